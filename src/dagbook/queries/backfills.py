"""Backfills and how far they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dagbook.decide.backfill import Step
from dagbook.queries.runs import summary
from dagbook.store import backfills, reading
from dagbook.store import versions as store_versions
from dagbook.store.backfills import BackfillRow
from dagbook.store.work import Work
from dagbook.wire.rest import BackfillDetail, BackfillPreview, PlannedInterval


def of_dag(work: Work, dag_id: str) -> list[BackfillDetail]:
    """Newest first."""
    store_versions.existing(work, dag_id)
    return [_detail(work, b) for b in backfills.of_dag(work, dag_id)]


def one(work: Work, dag_id: str, backfill: int) -> BackfillDetail:
    store_versions.existing(work, dag_id)
    return _detail(work, backfills.existing(work, dag_id, backfill))


def planned(steps: Sequence[Step], max_active_runs: int) -> BackfillPreview:
    """A plan as its reader sees it."""
    actions = Counter[str](s.action for s in steps)
    intervals = [PlannedInterval(s.interval.start, s.interval.end, s.action, s.reason) for s in steps]
    return BackfillPreview(intervals, dict(actions), max_active_runs)


def _detail(work: Work, b: BackfillRow) -> BackfillDetail:
    ended = "cancelled" if b.is_cancelled else "completed"
    state = ended if b.completed_at else "paused" if b.is_paused else "running"
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
        b.reprocess,
        b.run_backwards,
    )
