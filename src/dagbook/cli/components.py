"""Composition roots of the processes that run beside a Jupyter server, or alone."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable

import structlog

from dagbook import settings
from dagbook.errors import DagbookError, DatabaseUnavailable
from dagbook.executors.local import LocalExecutor
from dagbook.services.dag_processor import DagProcessor
from dagbook.services.loop import Backoff
from dagbook.services.opening import Opened, open_store
from dagbook.services.scheduler import Scheduler
from dagbook.services.tasks import Tasks
from dagbook.services.triggerer import Triggerer
from dagbook.settings import Settings
from dagbook.store.work import DUE_CHANNEL, TRIGGERS_CHANNEL

_PR_SET_PDEATHSIG = 1


def configure_logs() -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


class Stopping:
    """SIGTERM and SIGINT set ``event`` and end whatever wait is on."""

    def __init__(self, parent: int | None):
        self.event = threading.Event()
        self.wakers: list[Callable[[], None]] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        if parent is not None:
            _end_with(parent)

    def _stop(self, *_: object) -> None:
        self.event.set()
        for wake in self.wakers:
            wake()


def _end_with(parent: int) -> None:
    """SIGTERM when ``parent`` ends, even if it was killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _open_patiently(s: Settings, stop: threading.Event) -> Opened | None:
    """A database that is away is waited for; one that needs a person is said and ends the process."""
    log = structlog.get_logger("dagbook")
    backoff = Backoff()
    while not stop.is_set():
        try:
            return open_store(s)
        except DatabaseUnavailable as e:
            log.warning("waiting for the database", error=str(e))
            stop.wait(backoff.pause())
        except DagbookError as e:
            log.error("the database can't be used", error=str(e))
            raise SystemExit(1) from e
    return None


def scheduler(parent: int | None) -> None:
    """The scheduler with its local executor, and the DAG processor where there is a DAGs folder."""
    configure_logs()
    s, stopping = settings.read(), Stopping(parent)
    # Threads hand each other small pieces of work here; the default of 5 ms would be most of a task's latency.
    sys.setswitchinterval(0.0005)
    opened = _open_patiently(s, stopping.event)
    if opened is None:
        return
    listener = opened.listener(DUE_CHANNEL)
    stopping.wakers.append(listener.nudge)
    executor = LocalExecutor(Tasks(opened.store, opened.versions), s.logs_folder, s.slots, s.warm_servers, listener.nudge)
    if s.dags_folder is not None:
        processor = DagProcessor(opened.store, s.dags_folder, s)
        threading.Thread(target=processor.run, args=(stopping.event,), name="dag-processor", daemon=True).start()
    Scheduler(opened.store, opened.versions, executor, s, listener).run(stopping.event)
    opened.close()


def triggerer(parent: int | None) -> None:
    configure_logs()
    s, stopping = settings.read(), Stopping(parent)
    opened = _open_patiently(s, stopping.event)
    if opened is None:
        return
    listener = opened.listener(TRIGGERS_CHANNEL)
    stopping.wakers.append(listener.nudge)
    Triggerer(opened.store, s, listener).run(stopping.event)
    opened.close()


def dag_processor(parent: int | None) -> None:
    configure_logs()
    s, stopping = settings.read(), Stopping(parent)
    if s.dags_folder is None:
        raise SystemExit("DAGBOOK_DAGS_FOLDER is not set: there is no folder to watch")
    opened = _open_patiently(s, stopping.event)
    if opened is not None:
        DagProcessor(opened.store, s.dags_folder, s).run(stopping.event)
        opened.close()
