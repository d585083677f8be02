"""kill -9 of one part while it works: the supervisor, the retries and the leases put it right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jupyter import jupyter

from dagbook.client import Api, Server
from dagbook.spec.models import DagSource
from dagbook.wire.rest import TriggerRequest

pytestmark = pytest.mark.xdist_group("chaos")

SLOW = """
from datetime import timedelta
from dagbook import *
import time
with DAG("{0}", default_args={{"retries": 1, "retry_delay": timedelta(seconds=1)}}):
    @task
    def a(x):
        time.sleep({1})
        return x
    @task
    def b(xs): return list(xs)
    b(a.expand(x=[1, 2, 3]))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with jupyter(tmp_path_factory.mktemp("chaos"), environ={"DAGBOOK_HEARTBEAT": "0.5"}) as found:
        yield found


@pytest.fixture(scope="module")
def api(server):
    return Api(Server(server.url, server.token))


def until(check, seconds: float = 60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s: {check}")


def scheduler(api) -> int:
    return next(c.pid for c in api.status().components if c.kind == "scheduler" and c.alive)


def running(api, dag: str, run: str) -> list[int]:
    return [i.pid for i in api.instances(dag, run, "a") if i.state == "running" and i.pid]


def ended(api, dag: str, run: str):
    return lambda: (d := api.run(dag, run)).run.end_date and d


def test_the_scheduler_is_killed_during_a_run_and_the_run_ends_right(api):
    api.deploy("survives", DagSource(SLOW.format("survives", 2)))
    run = api.trigger("survives", TriggerRequest()).run.run_id
    tasks = until(lambda: running(api, "survives", run))
    victim = scheduler(api)
    os.kill(victim, signal.SIGKILL)
    found = until(ended(api, "survives", run), 90)
    assert found.run.state == "success"
    assert api.result("survives", run, "b") == [1, 2, 3]
    assert scheduler(api) != victim
    # Nothing of the dead scheduler's goes on beside the new try.
    assert not [p for p in tasks if Path(f"/proc/{p}").exists() and "Z" not in Path(f"/proc/{p}/stat").read_text().split()[2]]


def test_a_killed_task_process_fails_its_try_with_a_reason_and_is_retried(api):
    api.deploy("struck", DagSource(SLOW.format("struck", 2)))
    run = api.trigger("struck", TriggerRequest()).run.run_id
    os.kill(until(lambda: running(api, "struck", run))[0], signal.SIGKILL)
    until(lambda: any("killed by SIGKILL" in (i.reason or "") for i in api.instances("struck", run, "a")))
    found = until(ended(api, "struck", run))
    assert found.run.state == "success"
    assert max(i.try_number for i in api.instances("struck", run, "a")) == 2


def test_without_retries_a_killed_task_fails_with_its_reason(api):
    api.deploy(
        "dies",
        DagSource(
            "from dagbook import *\nimport os\nwith DAG('dies'):\n    @task\n    def a():\n        os.kill(os.getpid(), 9)\n    a()\n"
        ),
    )
    run = api.trigger("dies", TriggerRequest()).run.run_id
    found = until(ended(api, "dies", run))
    assert found.run.state == "failed"
    assert found.tasks[0].reason == "the task process was killed by SIGKILL (out of memory, or killed by hand)"


def test_the_database_is_killed_during_a_run_and_the_run_ends_right(server, api):
    api.deploy("waits", DagSource(SLOW.format("waits", 2)))
    run = api.trigger("waits", TriggerRequest()).run.run_id
    until(lambda: running(api, "waits", run))
    postmaster = int((server.home / "dagbook/postgres/data/postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGKILL)
    time.sleep(1)
    found = until(lambda: _ended_or_away(api, "waits", run), 90)
    assert found.run.state == "success"


def _ended_or_away(api, dag, run):
    from dagbook.errors import DagbookError

    try:
        return ended(api, dag, run)()
    except DagbookError:
        return None


def test_cancelling_kills_what_runs(api):
    api.deploy("stopped", DagSource(SLOW.format("stopped", 60)))
    run = api.trigger("stopped", TriggerRequest()).run.run_id
    pids = until(lambda: running(api, "stopped", run))
    assert api.cancel("stopped", run).run.state == "failed"
    until(lambda: not any(Path(f"/proc/{p}").exists() for p in pids), 20)
    assert "cancelled" in api.run("stopped", run).run.reason


def test_a_server_that_is_killed_leaves_nothing_behind(tmp_path):
    home = tmp_path / "h"
    home.mkdir()
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\nfrom pathlib import Path\nfrom jupyter import jupyter\n"
        "with jupyter(Path(sys.argv[2]), home=Path(sys.argv[3])) as s:\n    print(s.process.pid, flush=True)\n    time.sleep(120)\n"
    )
    tools = Path(__file__).parents[2] / "tools"
    child = subprocess.Popen([sys.executable, "-c", script, str(tools), str(tmp_path), str(home)], stdout=subprocess.PIPE, text=True)
    server = int(child.stdout.readline())
    os.kill(server, signal.SIGKILL)
    child.kill()
    child.wait()
    until(lambda: not _processes_of(home), 40)


def _processes_of(home: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            except OSError:
                continue
            if str(home).encode() in text and not zombie and int(entry.name) != os.getpid():
                found.append((entry / "cmdline").read_text().replace("\0", " "))
    return found
