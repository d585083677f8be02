"""Calls of the author's functions that are owed, until they have been made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from dagbook.store import plain
from dagbook.store.work import Work
from dagbook.wire.tasks import Owed, RunContext, TryKey

#: Times that a call may be lost with its process before it is given up.
MOST_LOST = 3


def owe(work: Work, run: int, kind: str, reason: str | None, task_id: str = "") -> None:
    """One of the DAG's own, or of a task as a whole."""
    work.conn.execute(
        text("INSERT INTO callback (run, task_id, map_index, try_number, kind, reason) VALUES (:run, :t, -1, 0, :kind, :reason)"),
        {"run": run, "t": task_id, "kind": kind, "reason": plain.text(reason)},
    )
    work.due()


@dataclass(frozen=True, slots=True)
class Call:
    """A callback on its way to an executor."""

    id: int
    run: int
    task_id: str
    map_index: int
    kind: str
    dag_id: str
    run_id: str
    version: str

    @property
    def key(self) -> TryKey:
        """Negative, where a try has its number: the same channel serves both."""
        return TryKey(self.run, self.task_id, self.map_index, -self.id)


def queue(work: Work, limit: int, job: int) -> list[Call]:
    """The oldest that wait are ``job``'s now."""
    rows = work.conn.execute(
        text(
            "UPDATE callback c SET state = 'queued', job_id = :job FROM dag_run r WHERE r.id = c.run AND c.id IN "
            "(SELECT id FROM callback WHERE state = 'waiting' ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED) "
            "RETURNING c.id, c.run, c.task_id, c.map_index, c.kind, r.dag_id, r.run_id, r.version"
        ),
        {"job": job, "limit": limit},
    )
    return sorted((Call(*r) for r in rows), key=lambda c: c.id)


def anything_owed(work: Work) -> bool:
    return bool(work.conn.execute(text("SELECT EXISTS (SELECT 1 FROM callback WHERE state = 'waiting')")).scalar_one())


def claim(work: Work, key: TryKey) -> tuple[RunContext, Owed] | None:
    """queued → running; ``None`` when it is somebody else's."""
    row = work.conn.execute(
        text(
            "UPDATE callback c SET state = 'running' FROM dag_run r WHERE c.id = :id AND c.state = 'queued' AND r.id = c.run "
            "RETURNING c.kind, c.task_id, c.map_index, c.try_number, c.reason, r.dag_id, r.run_id, r.run_type, r.logical_date, "
            "r.data_interval_start, r.data_interval_end, r.params, r.conf"
        ),
        {"id": -key.try_number},
    ).one_or_none()
    if row is None:
        return None
    context = RunContext(
        row.dag_id, row.run_id, row.run_type, row.logical_date, row.data_interval_start, row.data_interval_end, row.params, row.conf, 1
    )
    return context, Owed(row.kind, row.task_id, row.map_index, row.try_number, row.reason)


def end(work: Work, key: TryKey, error: str | None) -> bool:
    """It has been called; ``error``: what it raised."""
    return (
        work.conn.execute(
            text(
                "UPDATE callback SET state = :state, error = :error, ended_at = clock_timestamp(), job_id = NULL "
                "WHERE id = :id AND state IN ('queued', 'running')"
            ),
            {"id": -key.try_number, "state": "failed" if error else "done", "error": plain.text(error)},
        ).rowcount
        > 0
    )


def lost(work: Work, ids: Sequence[int]) -> None:
    """Its process went before it was done: it is called again, a few times."""
    if ids:
        work.conn.execute(
            text(
                "UPDATE callback SET state = CASE WHEN lost_count < :most THEN 'waiting' ELSE 'failed' END, job_id = NULL, "
                "lost_count = lost_count + 1, error = 'its process was lost' WHERE id = ANY(:ids) AND state IN ('queued', 'running')"
            ),
            {"ids": list(ids), "most": MOST_LOST},
        )
        work.due()


def give_up(work: Work, jobs: Sequence[int]) -> None:
    """Those of dead ``jobs``."""
    lost(
        work,
        work.conn.execute(
            text("SELECT id FROM callback WHERE job_id = ANY(:jobs) AND state IN ('queued', 'running')"), {"jobs": list(jobs)}
        )
        .scalars()
        .all(),
    )
