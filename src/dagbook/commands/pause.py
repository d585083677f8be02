"""Pause a DAG's schedule, or let it go on."""

from __future__ import annotations

from datetime import datetime

from dagbook.commands.next_run import start_over
from dagbook.store import versions
from dagbook.store.versions import Versions
from dagbook.store.work import Work


def pause(work: Work, cache: Versions, dag_id: str, is_paused: bool, now: datetime) -> None:
    """While paused no scheduled run is made or started; a backfill goes on."""
    row = versions.existing(work, dag_id)
    versions.pause(work, dag_id, is_paused)
    if not is_paused and not row.is_draft:
        start_over(work, cache.spec(work, row.version), now)
