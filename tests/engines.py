"""An engine in one process, on a real database, for tests to write DAG files for."""

from __future__ import annotations

import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dagbook.artifacts import codecs
from dagbook.commands import pause, trigger
from dagbook.executors.local import LocalExecutor
from dagbook.queries import runs
from dagbook.services.dag_processor import DagProcessor
from dagbook.services.opening import Opened, open_store
from dagbook.services.scheduler import Scheduler
from dagbook.services.tasks import Tasks
from dagbook.services.triggerer import Triggerer
from dagbook.settings import Settings
from dagbook.store.work import DUE_CHANNEL, TRIGGERS_CHANNEL
from dagbook.wire.rest import RunDetail

HEAD = "from datetime import datetime, timedelta\nfrom dagbook import *\n"


@dataclass
class Engine:
    opened: Opened
    settings: Settings
    processor: DagProcessor
    folder: Path

    def write(self, name: str, body: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + textwrap.dedent(body))
        self.processor.look()
        return path

    def call(self, function: Callable[..., Any], *args: Any, **more: Any) -> Any:
        with self.opened.store.begin() as work:
            return function(work, *args, **more)

    def start(self, dag_id: str, **more: Any) -> str:
        self.call(pause.pause, self.opened.versions, dag_id, False, datetime.now(UTC))
        return self.call(trigger.trigger, self.opened.versions, dag_id, datetime.now(UTC), **more).run_id

    def detail(self, dag_id: str, run_id: str) -> RunDetail:
        return self.call(runs.detail, self.opened.versions, dag_id, run_id)

    def finished(self, dag_id: str, run_id: str, seconds: float = 60) -> RunDetail:
        return until(lambda: (d := self.detail(dag_id, run_id)).run.end_date and d, seconds)

    def run(self, dag_id: str, **more: Any) -> RunDetail:
        return self.finished(dag_id, self.start(dag_id, **more))

    def states(self, detail: RunDetail) -> dict[str, str]:
        return {t.task_id: str(t.state) for t in detail.tasks}

    def result(self, detail: RunDetail, task_id: str) -> Any:
        found = self.call(runs.xcom, self.opened.versions, detail.run.dag_id, detail.run.run_id, task_id, -1, "return_value")
        return codecs.decode(found.codec, found.data if found.data is not None else bytes(found.value))


def until(check: Callable[[], Any], seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.03)
    raise AssertionError(f"not within {seconds} s")


@contextmanager
def running_engine(home: Path, **more: Any) -> Iterator[Engine]:
    """An engine with everything below ``home``, until the block ends."""
    settings = Settings(home=home, dags_folder=home / "dags", **{"heartbeat": 0.5, "parallelism": 4, "parse_timeout": 3, **more})
    (home / "dags").mkdir()
    opened = open_store(settings)
    listener, waits = opened.listener(DUE_CHANNEL), opened.listener(TRIGGERS_CHANNEL)
    executor = LocalExecutor(Tasks(opened.store, opened.versions), settings.logs_folder, settings.slots, 8, listener.nudge)
    stop = threading.Event()
    threads = [
        threading.Thread(target=Scheduler(opened.store, opened.versions, executor, settings, listener).run, args=(stop,)),
        threading.Thread(target=Triggerer(opened.store, settings, waits).run, args=(stop,)),
    ]
    for t in threads:
        t.start()
    yield Engine(opened, settings, DagProcessor(opened.store, settings.dags_folder, settings), settings.dags_folder)
    stop.set()
    listener.nudge()
    waits.nudge()
    for t in threads:
        t.join(15)
        assert not t.is_alive()
    opened.close()
