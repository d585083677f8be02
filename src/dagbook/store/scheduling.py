"""DAGs whose next run is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class DueDag:
    """A DAG whose next scheduled run is due; its row is locked."""

    dag_id: str
    version: str
    next_start: datetime
    next_end: datetime
    unfinished: int
    max_active_runs: int


def due_dags(work: Work, limit: int) -> list[DueDag]:
    """Those at ``max_active_runs`` are left until a run has ended."""
    rows = work.conn.execute(
        text("""
            SELECT d.dag_id, d.version, d.next_start, d.next_end, o.n, d.max_active_runs
            FROM dag d, LATERAL (SELECT count(*) AS n FROM dag_run r WHERE r.dag_id = d.dag_id
                                 AND r.run_type = 'scheduled' AND r.state IN ('queued', 'running')) o
            WHERE d.next_run_at <= clock_timestamp() AND NOT d.is_paused AND d.is_active AND NOT d.is_draft
              AND o.n < d.max_active_runs
            ORDER BY d.next_run_at LIMIT :limit FOR UPDATE OF d SKIP LOCKED
        """),
        {"limit": limit},
    )
    return [DueDag(*r) for r in rows]


def anything_to_start(work: Work) -> bool:
    """Cheap enough to ask every tick: does a queued run or a due DAG exist?"""
    return bool(
        work.conn.execute(
            text(
                "SELECT EXISTS (SELECT 1 FROM dag_run WHERE state = 'queued') OR EXISTS (SELECT 1 FROM dag "
                "WHERE next_run_at <= clock_timestamp() AND next_run_at IS NOT NULL AND NOT is_paused AND is_active) "
                "OR EXISTS (SELECT 1 FROM dataset_pending)"
            )
        ).scalar_one()
    )
