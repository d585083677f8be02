"""Pause a DAG's schedule, or let it go on."""

from __future__ import annotations

from datetime import datetime

from dagbook.decide.calendar import next_interval
from dagbook.store import versions
from dagbook.store.versions import Versions
from dagbook.store.work import Work


def pause(work: Work, cache: Versions, dag_id: str, is_paused: bool, now: datetime) -> None:
    """While paused no scheduled run is made or started; a backfill goes on."""
    row = versions.existing(work, dag_id)
    versions.pause(work, dag_id, is_paused)
    if not is_paused and not row.is_draft:
        spec = cache.spec(work, row.version)
        try:
            versions.set_next(work, dag_id, next_interval(spec, versions.last_interval(work, dag_id), now))
        except ValueError as e:
            versions.set_next(work, dag_id, None, str(e))
