"""Backfills and how far they are."""

from __future__ import annotations

from dagbook.queries.runs import summary
from dagbook.store import backfills, reading
from dagbook.store import versions as store_versions
from dagbook.store.backfills import BackfillRow
from dagbook.store.work import Work
from dagbook.wire.rest import BackfillDetail


def of_dag(work: Work, dag_id: str) -> list[BackfillDetail]:
    """Newest first."""
    store_versions.existing(work, dag_id)
    return [_detail(work, b) for b in backfills.of_dag(work, dag_id)]


def one(work: Work, dag_id: str, backfill: int) -> BackfillDetail:
    return next(_detail(work, b) for b in backfills.of_dag(work, dag_id) if b.id == backfill)


def _detail(work: Work, b: BackfillRow) -> BackfillDetail:
    state = "completed" if b.completed_at else "paused" if b.is_paused else "running"
    return BackfillDetail(
        b.id,
        b.dag_id,
        b.from_date.date(),
        b.to_date.date(),
        b.max_active_runs,
        state,
        b.total,
        reading.backfill_counts(work, b.id),
        [summary(r) for r in reading.runs_of_backfill(work, b.id)],
    )
