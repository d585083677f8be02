"""Datasets and what became of them."""

from __future__ import annotations

from dagbook.store import datasets
from dagbook.store.datasets import EventRow
from dagbook.store.work import Work
from dagbook.wire.rest import DatasetDetail, DatasetEventDetail


def listing(work: Work, limit: int = 1000) -> list[DatasetDetail]:
    return [DatasetDetail(d.uri, d.events, d.last, d.consumers, d.pending) for d in datasets.listing(work, limit)]


def _event(e: EventRow) -> DatasetEventDetail:
    source = (e.source_dag_id, e.source_run_id, e.source_task_id, e.source_map_index)
    return DatasetEventDetail(e.id, e.uri, e.created_at, e.extra, e.alias, *source)


def events(work: Work, uri: str | None, limit: int) -> list[DatasetEventDetail]:
    """Newest first."""
    return [
        DatasetEventDetail(
            e.id, e.uri, e.created_at, e.extra, e.alias, e.source_dag_id, e.source_run_id, e.source_task_id, e.source_map_index
        )
        for e in datasets.newest(work, uri, limit)
    ]
