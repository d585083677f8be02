"""Components as rows: who lives, and adopting the work of those who don't."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import text

from dagbook.store import callbacks, due
from dagbook.store.reports import write_history
from dagbook.store.work import Work
from dagbook.wire.tasks import TryKey

#: Tries that the engine itself may lose before the task is failed.
MOST_LOST = 3


def process_started(pid: int) -> int | None:
    """The kernel's start time of ``pid`` in clock ticks since boot; ``None`` when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def register(work: Work, kind: str) -> int:
    """This process as a job; its id."""
    return int(
        work.conn.execute(
            text("INSERT INTO job (kind, hostname, pid, pid_started, state) VALUES (:kind, :host, :pid, :started, 'running') RETURNING id"),
            {"kind": kind, "host": socket.gethostname(), "pid": os.getpid(), "started": process_started(os.getpid()) or 0},
        ).scalar_one()
    )


def beat(work: Work, job: int) -> bool:
    """False when somebody has declared this job dead: its work has been given away."""
    row = work.conn.execute(
        text("UPDATE job SET heartbeat_at = clock_timestamp() WHERE id = :job AND state = 'running' RETURNING id"), {"job": job}
    ).one_or_none()
    return row is not None


def end(work: Work, job: int) -> None:
    work.conn.execute(text("UPDATE job SET state = 'ended', ended_at = now() WHERE id = :job AND state = 'running'"), {"job": job})
    _give_up(work, [job], "its scheduler was stopped")


def bury(work: Work, timeout: float) -> list[int]:
    """Declare dead what hasn't beaten for ``timeout`` seconds, or has visibly died on this host; adopt its work."""
    rows = work.conn.execute(
        text(
            "SELECT id, hostname, pid, pid_started, heartbeat_at < clock_timestamp() - make_interval(secs => :timeout) AS late "
            "FROM job WHERE state = 'running' FOR UPDATE SKIP LOCKED"
        ),
        {"timeout": timeout},
    ).all()
    here = socket.gethostname()
    dead = [r.id for r in rows if r.late or (r.hostname == here and process_started(r.pid) != r.pid_started)]
    if dead:
        work.conn.execute(text("UPDATE job SET state = 'dead', ended_at = now() WHERE id = ANY(:dead)"), {"dead": dead})
        _give_up(work, dead, "its scheduler died")
    return dead


# The try is lost by no fault of the task: another is granted, unless the task seems to kill its engine.
_LOSE = text("""
    UPDATE task_instance SET
        state = CASE WHEN lost_count < :most THEN 'up_for_retry' ELSE 'failed' END,
        not_before = CASE WHEN lost_count < :most THEN clock_timestamp() END,
        max_tries = max_tries + CASE WHEN lost_count < :most THEN 1 ELSE 0 END,
        lost_count = lost_count + 1, reason = :reason, end_date = clock_timestamp(), job_id = NULL
    WHERE job_id = ANY(:jobs) AND state = 'running'
    RETURNING run, task_id, map_index, try_number
""")


def _give_up(work: Work, jobs: Sequence[int], reason: str) -> None:
    unqueued = (
        work.conn.execute(
            text(
                "UPDATE task_instance SET state = 'scheduled', job_id = NULL WHERE job_id = ANY(:jobs) AND state = 'queued' RETURNING run"
            ),
            {"jobs": list(jobs)},
        )
        .scalars()
        .all()
    )
    lost = work.conn.execute(_LOSE, {"jobs": list(jobs), "most": MOST_LOST, "reason": f"lost: {reason} while it ran"}).all()
    write_history(work, [TryKey(*r) for r in lost])
    callbacks.give_up(work, jobs)
    cleared = (
        work.conn.execute(
            text(
                "UPDATE task_instance SET state = 'none', job_id = NULL, reason = NULL WHERE job_id = ANY(:jobs) AND state = 'restarting' "
                "RETURNING run"
            ),
            {"jobs": list(jobs)},
        )
        .scalars()
        .all()
    )
    work.conn.execute(text("UPDATE trigger SET job_id = NULL WHERE job_id = ANY(:jobs)"), {"jobs": list(jobs)})
    runs = sorted({*unqueued, *cleared, *(r.run for r in lost)})
    due.put(work, runs)
    for run in runs:
        work.run_changed(run)


def stale(work: Work, job: int, keys: Sequence[TryKey]) -> list[TryKey]:
    """Which of ``keys`` are no longer ``job``'s to run: cancelled, or given to somebody else."""
    if not keys:
        return []
    current = {
        (r.run, r.task_id, r.map_index, r.try_number)
        for r in work.conn.execute(
            text(
                "SELECT run, task_id, map_index, try_number + CASE WHEN state = 'queued' AND next_method IS NULL THEN 1 ELSE 0 END "
                "AS try_number FROM task_instance WHERE job_id = :job AND state IN ('queued', 'running')"
            ),
            {"job": job},
        )
    }
    # A callback's process ends by itself.
    return [k for k in keys if k.try_number >= 0 and (k.run, k.task_id, k.map_index, k.try_number) not in current]


@dataclass(frozen=True, slots=True)
class JobRow:
    kind: str
    hostname: str
    pid: int
    state: str
    started_at: datetime
    #: Seconds since its last beat.
    age: float


def living(work: Work) -> list[JobRow]:
    rows = work.conn.execute(
        text(
            "SELECT kind, hostname, pid, state, started_at, extract(epoch FROM clock_timestamp() - heartbeat_at)::float AS age "
            "FROM job WHERE state = 'running' ORDER BY kind, id"
        )
    )
    return [JobRow(*r) for r in rows]


def forget_old(work: Work) -> None:
    """Rows of components that ended long ago."""
    work.conn.execute(text("DELETE FROM job WHERE state <> 'running' AND ended_at < now() - interval '7 days'"))
