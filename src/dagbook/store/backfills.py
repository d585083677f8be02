"""Backfills as records; their runs are runs like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.store import due, plain
from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class BackfillRow:
    id: int
    dag_id: str
    from_date: datetime
    to_date: datetime
    max_active_runs: int
    is_paused: bool
    completed_at: datetime | None
    total: int


_ROW = "id, dag_id, from_date, to_date, max_active_runs, is_paused, completed_at, total"


def insert(
    work: Work,
    dag_id: str,
    start: datetime,
    end: datetime,
    max_active_runs: int,
    reprocess: str,
    backwards: bool,
    conf: dict[str, Any],
    total: int,
) -> int:
    return int(
        work.conn.execute(
            text(
                "INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, reprocess, run_backwards, conf, total, completed_at) "
                "VALUES (:d, :start, :end, :n, :reprocess, :backwards, CAST(:conf AS jsonb), :total, "
                "CASE WHEN :total = 0 THEN now() END) RETURNING id"
            ),
            {
                "d": dag_id,
                "start": start,
                "end": end,
                "n": max_active_runs,
                "reprocess": reprocess,
                "backwards": backwards,
                "conf": plain.document(conf),
                "total": total,
            },
        ).scalar_one()
    )


def taken(work: Work, dag_id: str, dates: Sequence[datetime]) -> dict[datetime, tuple[int, str]]:
    """(run, state) of the newest run at each of ``dates``."""
    rows = work.conn.execute(
        text(
            "SELECT DISTINCT ON (logical_date) logical_date, id, state FROM dag_run WHERE dag_id = :d "
            "AND logical_date = ANY(:dates) ORDER BY logical_date, (run_type IN ('scheduled', 'backfill')) DESC, id DESC"
        ),
        {"d": dag_id, "dates": list(dates)},
    )
    return {r.logical_date: (r.id, r.state) for r in rows}


def take_over(work: Work, backfill: int, runs: Sequence[int], version: str) -> None:
    """Finished runs start again from nothing under ``backfill``; their tries stay in the history."""
    if not runs:
        return
    ids = {"runs": list(runs)}
    work.conn.execute(text("DELETE FROM task_instance WHERE run = ANY(:runs)"), ids)
    work.conn.execute(text("DELETE FROM xcom WHERE run = ANY(:runs)"), ids)
    work.conn.execute(
        text(
            "UPDATE dag_run SET state = 'queued', backfill_id = :b, version = :v, start_date = NULL, end_date = NULL, reason = NULL "
            "WHERE id = ANY(:runs)"
        ),
        {**ids, "b": backfill, "v": version},
    )
    for run in runs:
        work.run_changed(run)
    work.due()


def of_dag(work: Work, dag_id: str, limit: int = 50) -> list[BackfillRow]:
    rows = work.conn.execute(text(f"SELECT {_ROW} FROM backfill WHERE dag_id = :d ORDER BY id DESC LIMIT :n"), {"d": dag_id, "n": limit})
    return [BackfillRow(*r) for r in rows]


def cancel_waiting(work: Work, backfill: int, reason: str) -> int:
    """Its queued runs end as failed without having started."""
    n = work.conn.execute(
        text("UPDATE dag_run SET state = 'failed', reason = :reason, end_date = now() WHERE backfill_id = :b AND state = 'queued'"),
        {"b": backfill, "reason": reason},
    ).rowcount
    due.put(
        work,
        list(work.conn.execute(text("SELECT id FROM dag_run WHERE backfill_id = :b AND state = 'running'"), {"b": backfill}).scalars()),
    )
    return n
