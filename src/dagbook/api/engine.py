"""The API's hold on the database: opened in the background, called from a small pool of threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog

from dagbook.errors import DagbookError, DatabaseUnavailable
from dagbook.services.loop import Backoff
from dagbook.services.opening import Opened, open_store
from dagbook.settings import Settings
from dagbook.store.notify import Listener
from dagbook.store.versions import Versions
from dagbook.store.work import Work

log = structlog.get_logger(__name__)
T = TypeVar("T")


class Engine:
    """Handlers give it functions over an open transaction; until the database is open they hear why it isn't."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self._opened: Opened | None = None
        self._why = "the database is starting; try again in a moment"
        self._closed = threading.Event()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="dagbook-api")

    def open_soon(self) -> None:
        threading.Thread(target=self._open, name="dagbook-open", daemon=True).start()

    def _open(self) -> None:
        backoff = Backoff(first=0.5, most=10.0)
        while not self._closed.is_set():
            try:
                self._opened = open_store(self.settings)
                return
            except DagbookError as e:
                self._why = str(e)
                log.error("the database can't be opened yet", error=self._why)
                self._closed.wait(backoff.pause())

    @property
    def opened(self) -> Opened:
        if self._opened is None:
            raise DatabaseUnavailable(self._why)
        return self._opened

    async def call(self, function: Callable[[Work, Versions], T]) -> T:
        """Run ``function`` in one transaction, in a thread."""
        opened = self.opened

        def transact() -> T:
            with opened.store.begin() as work:
                return function(work, opened.versions)

        return await self.off_loop(transact)

    async def off_loop(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def listener(self, channel: str) -> Listener | None:
        return self._opened.listener(channel) if self._opened else None

    async def close(self) -> None:
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._opened is not None:
            await asyncio.to_thread(self._opened.close)
