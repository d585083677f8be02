"""The WebSocket of events."""

from __future__ import annotations

from typing import Any

import msgspec
from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from dagbook.api.faults import problem
from dagbook.api.handlers.base import RESOURCE
from dagbook.api.hub import Hub
from dagbook.queries import runs
from dagbook.wire.rest import ProblemEvent, Subscribe


class EventsHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """One client: it sends ``Subscribe``s and hears ``Event``s; a wrong one is answered by a ``ProblemEvent``."""

    auth_resource = RESOURCE

    @property
    def hub(self) -> Hub:
        return self.settings["dagbook_hub"]  # type: ignore[no-any-return]

    @ws_authenticated
    @authorized(action="read")
    async def get(self, *args: Any, **kwargs: Any) -> None:
        # Upgrades the connection; the sign-in and the authorizer have been asked before.
        await super().get(*args, **kwargs)

    async def on_message(self, message: str | bytes) -> None:
        try:
            wanted = msgspec.json.decode(message, type=Subscribe)
            if wanted.dag_id is None or wanted.run_id is None:
                self.hub.watch_list(self.send)
                return
            dag_id, run_id = wanted.dag_id, wanted.run_id
            run = await self.settings["dagbook_engine"].call(lambda work, _: runs.number(work, dag_id, run_id))
            self.hub.watch_run(run, self.send)
        except Exception as e:
            _, body = problem(e)
            self.send(msgspec.json.encode(ProblemEvent(body.code, body.message)))

    def send(self, data: bytes) -> None:
        try:
            self.write_message(data.decode())
        except WebSocketClosedError:
            self.hub.leave(self.send)

    def on_close(self) -> None:
        self.hub.leave(self.send)
