"""The event stream: what changed in the database becomes pictures for whoever watches."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
import structlog

from dagbook.api.engine import Engine
from dagbook.errors import DagbookError, DatabaseUnavailable
from dagbook.queries import runs
from dagbook.store.work import EVENTS_CHANNEL
from dagbook.wire.rest import DagsEvent, Event, RunEvent

log = structlog.get_logger(__name__)
Send = Callable[[bytes], None]
#: Seconds: between two pictures of one run, between looks at a log that grows, between two words on the list.
_SPACING, _LOG_POLL, _LIST_SPACING = 0.1, 0.5, 1.0


class Changes(msgspec.Struct):
    """A notification's payload; neither: anything may have changed."""

    runs: list[int] = []
    dags: list[str] = []


@dataclass
class Watched:
    """One run with its watchers.  ``last``: the picture they have; ``over``: it was the final one."""

    watchers: set[Send] = field(default_factory=set)
    last: bytes = b""
    looked_at: float = 0.0
    over: bool = False


class Hub:
    """Lives on the server's event loop; only the listener has a thread."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._runs: dict[int, Watched] = {}
        self._lists: set[Send] = set()
        self._changed: set[int] = set()
        self._dags: set[str] = set()
        self._list_changed, self._list_told = False, 0.0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = threading.Event()

    def close(self) -> None:
        self._closed.set()
        if self._task is not None:
            self._task.cancel()

    # Watchers ---------------------------------------------------------------------------------

    def watch_run(self, run: int, send: Send) -> None:
        watched = self._runs.setdefault(run, Watched())
        watched.watchers.add(send)
        watched.last, watched.over = b"", False
        self._changed.add(run)
        self._begin()

    def watch_list(self, send: Send) -> None:
        self._lists.add(send)
        self._begin()

    def leave(self, send: Send) -> None:
        self._lists.discard(send)
        for run, watched in list(self._runs.items()):
            watched.watchers.discard(send)
            if not watched.watchers:
                del self._runs[run]

    def _begin(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._tell())
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._listen, args=(loop,), name="dagbook-events", daemon=True).start()
        self._wake.set()

    # News -------------------------------------------------------------------------------------

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        listener = None
        while not self._closed.is_set():
            listener = listener or self._engine.listener(EVENTS_CHANNEL)
            if listener is None:
                self._closed.wait(0.2)
                continue
            heard = [msgspec.json.decode(p or "{}", type=Changes) for p in listener.wait(1.0)]
            if heard:
                with contextlib.suppress(RuntimeError):  # the loop has closed
                    loop.call_soon_threadsafe(self._hear, heard)
        if listener is not None:
            listener.close()

    def _hear(self, heard: list[Changes]) -> None:
        for changes in heard:
            everything = not changes.runs and not changes.dags
            self._changed |= self._runs.keys() if everything else self._runs.keys() & set(changes.runs)
            self._dags |= set(changes.dags)
        self._list_changed = True
        self._wake.set()

    async def _tell(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), _LOG_POLL if self._runs else 30.0)
            self._wake.clear()
            try:
                await self._tell_runs()
                self._tell_lists()
            except DatabaseUnavailable as e:
                log.warning("events wait for the database", error=str(e))
                await asyncio.sleep(1.0)
            except DagbookError as e:
                log.error("an event could not be told", error=str(e))

    async def _tell_runs(self) -> None:
        now = time.monotonic()
        for run, watched in list(self._runs.items()):
            changed = run in self._changed
            since = now - watched.looked_at
            if changed and since < _SPACING:
                asyncio.get_running_loop().call_later(_SPACING - since, self._wake.set)
            elif changed or (since >= _LOG_POLL and not watched.over):
                self._changed.discard(run)
                watched.looked_at = now
                await self._picture(run, watched)

    async def _picture(self, run: int, watched: Watched) -> None:
        folder = self._engine.settings.logs_folder
        event = await self._engine.call(lambda work, cache: runs.event(work, cache, folder, run))
        if event is None:
            return
        watched.over = event.detail.run.end_date is not None
        timeless = msgspec.json.encode(_without_time(event))
        if timeless != watched.last:
            watched.last = timeless
            data = msgspec.json.encode(event)
            for send in list(watched.watchers):
                send(data)

    def _tell_lists(self) -> None:
        if not self._list_changed:
            return
        left = self._list_told + _LIST_SPACING - time.monotonic()
        if left > 0:
            asyncio.get_running_loop().call_later(left, self._wake.set)
            return
        event: Event = DagsEvent(sorted(self._dags)[:100])
        self._dags.clear()
        self._list_changed, self._list_told = False, time.monotonic()
        for send in list(self._lists):
            send(msgspec.json.encode(event))


def _without_time(event: RunEvent) -> RunEvent:
    epoch = event.detail.run.logical_date
    return msgspec.structs.replace(event, detail=msgspec.structs.replace(event.detail, now=epoch))
