"""What authors' own timetables have said comes next: kept beside the DAG, since the scheduler never runs user code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import text

from dagbook.decide.calendar import Told
from dagbook.spec.models import DataInterval
from dagbook.store.work import Work


def told(work: Work, dag_id: str) -> Told | None:
    """``None`` before the first answer."""
    row = work.conn.execute(text("SELECT upcoming, upcoming_at FROM dag WHERE dag_id = :d"), {"d": dag_id}).one()
    return None if row.upcoming is None else Told(tuple(msgspec.convert(row.upcoming, list[DataInterval])), row.upcoming_at)


def want(work: Work, dag_id: str, at: datetime, *, anew: bool = False) -> None:
    """Have the DAG's timetable asked from ``at`` on; ``anew``: what it has said until now no longer counts."""
    forgotten = "upcoming = NULL, upcoming_at = NULL, " if anew else ""
    work.conn.execute(text(f"UPDATE dag SET {forgotten}ask_timetable_at = :at WHERE dag_id = :d"), {"d": dag_id, "at": at})


def wanting(work: Work, now: datetime, limit: int) -> list[tuple[str, str]]:
    """(DAG, version)s whose timetables are to be asked."""
    rows = work.conn.execute(
        text(
            "SELECT dag_id, version FROM dag WHERE ask_timetable_at <= :now AND is_active AND NOT is_draft "
            "ORDER BY ask_timetable_at LIMIT :n"
        ),
        {"now": now, "n": limit},
    )
    return [(r.dag_id, r.version) for r in rows]


def keep(work: Work, dag_id: str, version: str, intervals: Sequence[DataInterval], at: datetime) -> bool:
    """The answer of ``at``; false when the DAG has another version by now, whose timetable may say something else."""
    found = work.conn.execute(
        text(
            "UPDATE dag SET upcoming = CAST(:u AS jsonb), upcoming_at = :at, ask_timetable_at = NULL "
            "WHERE dag_id = :d AND version = :v AND ask_timetable_at IS NOT NULL"
        ),
        {"d": dag_id, "v": version, "u": msgspec.json.encode(list(intervals)).decode(), "at": at},
    )
    return bool(found.rowcount)
