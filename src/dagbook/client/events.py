"""A run's pictures as they come: by WebSocket, and by asking where there is none."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator
from urllib.parse import urlsplit

import msgspec

from dagbook.client.http import Api
from dagbook.errors import EngineUnavailable
from dagbook.wire.rest import Event, ProblemEvent, RunEvent, Subscribe

#: Seconds without a word after which the run is asked for: a lost message must not look like a silent run.
_QUIET = 5.0
Pictures = Generator[RunEvent | None, None, bool]


def follow(api: Api, dag_id: str, run_id: str) -> Iterator[RunEvent | None]:
    """Pictures until the run has ended; ``None`` about once a second in between, so that the caller can look at a clock."""
    while True:
        try:
            ended = yield from _by_socket(api, dag_id, run_id)
            if ended:
                return
        except _NoSocket:
            time.sleep(0.5)
        event = RunEvent(api.run(dag_id, run_id))
        yield event
        if event.detail.run.end_date is not None:
            return


class _NoSocket(Exception):
    pass


def _by_socket(api: Api, dag_id: str, run_id: str) -> Pictures:
    """True when the run has ended; false when nothing was said for a while."""
    import websocket

    parts = urlsplit(api.server.url)
    url = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}{parts.path}/dagbook/api/events"
    try:
        sock = websocket.create_connection(
            url,
            timeout=5,
            header=[f"Authorization: token {api.server.token}"],
            http_no_proxy=[parts.hostname or ""],
        )
    except (OSError, websocket.WebSocketException) as e:
        raise _NoSocket from e
    with contextlib.closing(sock):
        sock.send(msgspec.json.encode(Subscribe(dag_id, run_id)).decode())
        sock.settimeout(1.0)
        return (yield from _heard(sock))


def _heard(sock: object) -> Pictures:
    import websocket

    silent_since = time.monotonic()
    while time.monotonic() - silent_since < _QUIET:
        try:
            data = sock.recv()  # type: ignore[attr-defined]
        except websocket.WebSocketTimeoutException:
            yield None
            continue
        except (OSError, websocket.WebSocketException) as e:
            raise _NoSocket from e
        if not data:
            raise _NoSocket
        event = msgspec.json.decode(data, type=Event)
        silent_since = time.monotonic()
        if isinstance(event, ProblemEvent):
            raise EngineUnavailable(event.message)
        if isinstance(event, RunEvent):
            yield event
            if event.detail.run.end_date is not None:
                return True
    return False
