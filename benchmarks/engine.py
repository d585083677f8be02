"""The engine as users run it: scheduler process, local executor, embedded PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import text

from benchmarks.figure import Figure, figure
from dagbook.commands import deploy, trigger
from dagbook.services.opening import Opened, open_store
from dagbook.settings import Settings
from dagbook.spec.models import DagSource
from dagbook.worker.parse import parse

_RUNS, _TASKS = 50, 20
_NOOP = """
from dagbook import *
@task
def noop(): ...
with DAG('noop', max_active_runs=50, max_active_tasks=64):
    for i in range({n}):
        noop()
"""
_CHAIN = """
from dagbook import *
@task
def noop(): ...
with DAG('chain'):
    chain(*[noop() for _ in range({n})])
"""
_FORKS = """
import os, sys, time
import dagbook.worker.zygote
n, slots = int(sys.argv[1]), int(sys.argv[2])
began, alive = time.monotonic(), 0
for _ in range(n):
    if alive == slots:
        os.wait()
        alive -= 1
    if os.fork() == 0:
        os._exit(0)
    alive += 1
while alive:
    os.wait()
    alive -= 1
print(time.monotonic() - began)
"""


@contextlib.contextmanager
def _engine() -> Iterator[Opened]:
    """A scheduler in a process of its own, as the supervisor starts it."""
    with tempfile.TemporaryDirectory(prefix="dagbook-bench-") as home:
        env = {k: v for k, v in os.environ.items() if not k.startswith("DAGBOOK_")} | {"DAGBOOK_HOME": home, "DAGBOOK_POSTGRES_GRACE": "1"}
        opened = open_store(Settings(home=Path(home)))
        with (Path(home) / "scheduler.log").open("wb") as log:
            child = subprocess.Popen([sys.executable, "-m", "dagbook", "scheduler"], env=env, stdout=log, stderr=log)
        try:
            yield opened
        finally:
            child.terminate()
            child.wait(20)
            opened.close()


def _deploy(opened: Opened, dag_id: str, module: str) -> None:
    source = DagSource(module)
    found = parse(source, 30)
    with opened.store.begin() as work:
        deploy.draft(work, dag_id, found, source, "bench")


def _start(opened: Opened, dag_id: str, count: int) -> None:
    now = datetime.now(UTC)
    with opened.store.begin() as work:
        for _ in range(count):
            trigger.trigger(work, opened.versions, dag_id, now, run_id=f"{time.monotonic_ns()}")


def _wait(opened: Opened, dag_id: str) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        with opened.store.begin() as work:
            query = text("SELECT count(*) FROM dag_run WHERE dag_id = :d AND end_date IS NULL")
            if work.conn.execute(query, {"d": dag_id}).scalar_one() == 0:
                failed = work.conn.execute(text("SELECT count(*) FROM dag_run WHERE state <> 'success'")).scalar_one()
                if failed:
                    raise RuntimeError(f"{failed} runs did not succeed")
                return
        time.sleep(0.05)
    raise RuntimeError("the runs did not end within 600 s")


def _bare_forks(count: int) -> float:
    """Seconds to fork ``count`` processes from one that holds the same imports, as many at once as the engine runs."""
    command = [sys.executable, "-c", _FORKS, str(count), str(Settings().slots)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def tasks(repeat: int) -> list[Figure]:
    """1,000 no-op tasks (50 runs × 20): seconds, beside as many bare forks."""
    values, floors = [], []
    with _engine() as opened:
        _deploy(opened, "noop", _NOOP.format(n=_TASKS))
        _start(opened, "noop", 1)
        _wait(opened, "noop")  # the warm server is up
        for _ in range(repeat):
            began = time.monotonic()
            _start(opened, "noop", _RUNS)
            _wait(opened, "noop")
            values.append(time.monotonic() - began)
            floors.append(_bare_forks(_RUNS * _TASKS))
    per_task = [v / (_RUNS * _TASKS) * 1000 for v in values]
    return [
        figure("tasks.1000_noop", values, "s", floors),
        figure("tasks.per_task", per_task, "ms", [f / (_RUNS * _TASKS) * 1000 for f in floors]),
    ]


_GAPS = text("""
    SELECT extract(epoch FROM b.start_date - a.end_date)::float * 1000 FROM task_instance a JOIN task_instance b ON b.run = a.run
    AND (b.task_id = 'noop__1' AND a.task_id = 'noop' OR a.task_id LIKE 'noop\\_\\_%' AND b.task_id =
         'noop__' || (split_part(a.task_id, '__', 2)::int + 1)) WHERE a.task_id = 'noop' OR a.task_id LIKE 'noop\\_\\_%'
""")


def latency(repeat: int) -> list[Figure]:
    """From a task's end to its successor's start: median milliseconds over a chain of 30, beside a bare fork."""
    with _engine() as opened:
        _deploy(opened, "chain", _CHAIN.format(n=30))
        _start(opened, "chain", 1)
        _wait(opened, "chain")
        with opened.store.begin() as work:
            work.conn.execute(text("TRUNCATE task_instance, dag_run CASCADE"))
        for _ in range(repeat):
            _start(opened, "chain", 1)
            _wait(opened, "chain")
        with opened.store.begin() as work:
            gaps = sorted(work.conn.execute(_GAPS).scalars())
    floors = [_bare_forks(100) / 100 * 1000 for _ in range(repeat)]
    return [figure("latency.successor_median", gaps, "ms", floors), figure("latency.successor_p95", [gaps[int(len(gaps) * 0.95)]], "ms")]
