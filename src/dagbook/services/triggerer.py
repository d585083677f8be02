"""The triggerer: one event loop that waits for what deferred tasks wait for."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from datetime import datetime
from typing import Any

import structlog

from dagbook.errors import DatabaseUnavailable
from dagbook.services.loop import Backoff, Clock, utc_now
from dagbook.settings import Settings
from dagbook.store import jobs, triggers
from dagbook.store.notify import Listener
from dagbook.store.triggers import TriggerRow
from dagbook.store.work import Store, Work

log = structlog.get_logger(__name__)
#: Only these may run in the engine's own process.
_PACKAGE = "dagbook.triggers."
_AT_ONCE = 1000


class Triggerer:
    """Several may share a database; each trigger is waited for by one of them."""

    def __init__(self, store: Store, settings: Settings, listener: Listener, clock: Clock = utc_now):
        self._store, self._settings, self._listener, self._clock = store, settings, listener, clock
        self._job = 0
        self._next_beat = 0.0
        self._waiting: dict[int, asyncio.Task[None]] = {}
        self._fired: list[tuple[int, Any, str | None]] = []

    def run(self, stop: threading.Event) -> None:
        asyncio.run(self._main(stop))

    async def _main(self, stop: threading.Event) -> None:
        backoff = Backoff()
        while not stop.is_set():
            try:
                await asyncio.to_thread(self._listener.wait, 0.0 if self._fired or self._job == 0 else self._settings.heartbeat)
                for row in await asyncio.to_thread(self._turn):
                    self._waiting[row.id] = asyncio.create_task(self._wait(row))
                backoff.reset()
            except DatabaseUnavailable as e:
                log.warning("waiting for the database", error=str(e))
                await asyncio.sleep(backoff.pause())
        for task in self._waiting.values():
            task.cancel()
        try:
            with self._store.begin() as work:
                jobs.end(work, self._job)
        except DatabaseUnavailable as e:
            log.warning("left without saying so; the triggers are adopted later", error=str(e))

    def _turn(self) -> list[TriggerRow]:
        """Write what fired, say that this lives, take up what nobody waits for."""
        with self._store.begin() as work:
            fired = list(self._fired)
            for trigger, event, error in fired:
                if error is None:
                    triggers.fire(work, trigger, self._job, event)
                else:
                    triggers.fail(work, trigger, self._job, error)
            if self._job == 0 or time.monotonic() >= self._next_beat:
                self._beat_in(work)
            taken = triggers.claim(work, self._job, _AT_ONCE - len(self._waiting)) if len(self._waiting) < _AT_ONCE else []
        # Only what this transaction wrote; what fired meanwhile waits for the next turn.
        del self._fired[: len(fired)]
        return taken

    def _beat_in(self, work: Work) -> None:
        self._next_beat = time.monotonic() + self._settings.heartbeat
        if self._job == 0 or not jobs.beat(work, self._job):
            self._job = jobs.register(work, "triggerer")
        jobs.bury(work, self._settings.heartbeat_timeout)
        held = triggers.held(work, self._job)
        for trigger in [t for t in self._waiting if t not in held]:
            task = self._waiting.pop(trigger)
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def _wait(self, row: TriggerRow) -> None:
        event, error = None, None
        try:
            async with asyncio.timeout(_seconds_left(row.timeout_at, self._clock())):
                event = await _make(row).run()
        except TimeoutError:
            error = "the trigger did not fire before its time-out"
        except asyncio.CancelledError:
            raise
        except Exception as e:
            error = f"its trigger {row.classpath} failed: {type(e).__name__}: {e}"
        self._fired.append((row.id, event, error))
        self._waiting.pop(row.id, None)
        self._listener.nudge()


def _seconds_left(timeout_at: datetime | None, now: datetime) -> float | None:
    return None if timeout_at is None else max((timeout_at - now).total_seconds(), 0)


def _make(row: TriggerRow) -> Any:
    if not row.classpath.startswith(_PACKAGE):
        raise ValueError(f"only triggers of {_PACKAGE}* may run here")
    module, _, name = row.classpath.rpartition(".")
    return getattr(importlib.import_module(module), name)(**row.kwargs)
