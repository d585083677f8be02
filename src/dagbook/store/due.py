"""Which runs wait for the scheduler's judgement, and the lock that makes its queueing step one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dagbook.store.work import Work

_QUEUEING_LOCK = 7_301_119


def put(work: Work, runs: Sequence[int], at: datetime | None = None) -> None:
    """Look at ``runs`` again, now or ``at`` a time."""
    if runs:
        work.conn.execute(
            text("INSERT INTO run_due (run, at) SELECT r, coalesce(:at, clock_timestamp()) FROM unnest(CAST(:runs AS bigint[])) r"),
            {"runs": list(runs), "at": at},
        )
        if at is None:
            work.due()


@dataclass(frozen=True, slots=True)
class DueRun:
    id: int
    version: str
    state: str
    logical_date: datetime
    queued_at: datetime
    timeout_at: datetime | None
    missed: tuple[str, ...]
    is_stalled: bool
    #: Some of its instances were cleared while they ran.
    restarting: bool


_LOCK = text("""
    SELECT id, version, state, logical_date, queued_at, timeout_at, missed, is_stalled,
           EXISTS (SELECT 1 FROM task_instance t WHERE t.run = r.id AND t.state = 'restarting') AS restarting
    FROM dag_run r WHERE id = ANY(:runs) ORDER BY id FOR NO KEY UPDATE OF r SKIP LOCKED
""")


def claim(work: Work, limit: int) -> list[DueRun]:
    """Take due runs; each is locked until this transaction ends, so no other scheduler judges it meanwhile."""
    runs = sorted(
        set(
            work.conn.execute(
                text(
                    "DELETE FROM run_due WHERE id IN (SELECT id FROM run_due WHERE at <= clock_timestamp() ORDER BY at "
                    "LIMIT :limit FOR UPDATE SKIP LOCKED) RETURNING run"
                ),
                {"limit": limit},
            ).scalars()
        )
    )
    if not runs:
        return []
    locked = [
        DueRun(r.id, r.version, r.state, r.logical_date, r.queued_at, r.timeout_at, tuple(r.missed), r.is_stalled, r.restarting)
        for r in work.conn.execute(_LOCK, {"runs": runs})
    ]
    missed = set(runs) - {r.id for r in locked}
    if missed:
        # Another scheduler holds them: what made them due again may be news to it.
        work.conn.execute(
            text("INSERT INTO run_due (run, at) SELECT id, clock_timestamp() + interval '50 ms' FROM dag_run WHERE id = ANY(:runs)"),
            {"runs": sorted(missed)},
        )
    return locked


def sweep(work: Work) -> int:
    """The safety net: every running run is due, whatever was or was not announced."""
    return work.conn.execute(
        text(
            "INSERT INTO run_due (run) SELECT id FROM dag_run r WHERE state = 'running' "
            "AND NOT EXISTS (SELECT 1 FROM run_due d WHERE d.run = r.id AND d.at <= clock_timestamp())"
        )
    ).rowcount


def next_at(work: Work) -> datetime | None:
    """When the next thing is due by time alone: a retry, or a scheduled run."""
    found: datetime | None = work.conn.execute(
        text(
            "SELECT least((SELECT min(at) FROM run_due), (SELECT min(next_run_at) FROM dag "
            "WHERE next_run_at IS NOT NULL AND NOT is_paused AND is_active))"
        )
    ).scalar()
    return found


def one_at_a_time(work: Work) -> None:
    """Until this transaction ends, no other scheduler reads capacity or starts runs."""
    work.conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _QUEUEING_LOCK})
