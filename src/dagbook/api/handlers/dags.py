"""DAGs and their versions; the engine's state."""

from __future__ import annotations

from dagbook.api.handlers.base import Handler, endpoint
from dagbook.commands import deploy, pause
from dagbook.errors import Invalid
from dagbook.queries import dags
from dagbook.services.loop import utc_now
from dagbook.wire.rest import DeployRequest, PauseRequest
from dagbook.worker.parse import parse

#: Characters of a notebook DAG's module; a slice carries code, not data.
_LONGEST_SOURCE = 2_000_000


class StatusHandler(Handler):
    @endpoint
    async def get(self) -> None:
        timeout = self.engine.settings.heartbeat_timeout
        self.say(await self.engine.call(lambda work, _: dags.status(work, timeout)))


class DagsHandler(Handler):
    @endpoint
    async def get(self) -> None:
        search = self.get_query_argument("search", "").replace("\0", "")
        self.say(await self.engine.call(lambda work, _: dags.listing(work, search)))

    @endpoint
    async def post(self) -> None:
        """Keep a notebook's DAG as a draft, after loading it where it can do no harm."""
        request, who = self.body(DeployRequest), self.author
        if len(request.source.text) > _LONGEST_SOURCE:
            raise Invalid(f"the module has {len(request.source.text)} characters; at most {_LONGEST_SOURCE} are taken")
        if "\0" in request.source.text:
            raise Invalid("the module holds a NUL character")
        _ = self.engine.opened
        timeout = self.engine.settings.parse_timeout
        found = await self.engine.off_loop(lambda: parse(request.source, timeout))
        await self.engine.call(lambda work, _: deploy.draft(work, request.dag_id, found, request.source, who))
        self.say(await self.engine.call(lambda work, cache: dags.detail(work, cache, request.dag_id)), 201)


class DagHandler(Handler):
    @endpoint
    async def get(self, dag_id: str) -> None:
        self.say(await self.engine.call(lambda work, cache: dags.detail(work, cache, dag_id)))

    @endpoint
    async def patch(self, dag_id: str) -> None:
        wanted = self.body(PauseRequest).is_paused
        await self.engine.call(lambda work, cache: pause.pause(work, cache, dag_id, wanted, utc_now()))
        self.say(await self.engine.call(lambda work, _: dags.one(work, dag_id)))


class VersionsHandler(Handler):
    @endpoint
    async def get(self, dag_id: str) -> None:
        self.say(await self.engine.call(lambda work, _: dags.versions(work, dag_id)))


class ImportErrorsHandler(Handler):
    @endpoint
    async def get(self) -> None:
        self.say(await self.engine.call(lambda work, _: dags.import_errors(work)))
