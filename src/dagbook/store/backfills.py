"""Backfills as records; their runs are runs like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.errors import NotFound
from dagbook.store import plain
from dagbook.store.runs import RunKey
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
    is_cancelled: bool
    reprocess: str
    run_backwards: bool


_ROW = "id, dag_id, from_date, to_date, max_active_runs, is_paused, completed_at, total, is_cancelled, reprocess, run_backwards"


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


def take_over(work: Work, backfill: int, places: Mapping[int, int], version: str, conf: dict[str, Any], params: dict[str, Any]) -> None:
    """Finished runs start again from nothing under ``backfill``, each at its place; their tries stay in the history."""
    if not places:
        return
    ids = {"runs": list(places)}
    work.conn.execute(text("DELETE FROM task_instance WHERE run = ANY(:runs)"), ids)
    work.conn.execute(text("DELETE FROM xcom WHERE run = ANY(:runs)"), ids)
    work.conn.execute(
        text(
            "UPDATE dag_run r SET state = 'queued', backfill_id = :b, version = :v, sort_key = w.place, start_date = NULL, "
            "end_date = NULL, reason = NULL, missed = '{}', timeout_at = NULL, is_stalled = false, queued_at = clock_timestamp(), "
            "conf = CAST(:conf AS jsonb), params = CAST(:params AS jsonb) "
            "FROM unnest(CAST(:runs AS bigint[]), CAST(:places AS bigint[])) AS w(run, place) WHERE r.id = w.run"
        ),
        {
            **ids,
            "places": list(places.values()),
            "b": backfill,
            "v": version,
            "conf": plain.document(conf),
            "params": plain.document(params),
        },
    )
    for run in places:
        work.run_changed(run)
    work.due()


def of_dag(work: Work, dag_id: str, limit: int = 50) -> list[BackfillRow]:
    rows = work.conn.execute(text(f"SELECT {_ROW} FROM backfill WHERE dag_id = :d ORDER BY id DESC LIMIT :n"), {"d": dag_id, "n": limit})
    return [BackfillRow(*r) for r in rows]


def existing(work: Work, dag_id: str, backfill: int, *, lock: bool = False) -> BackfillRow:
    """``NotFound`` names the newest ones that there are."""
    row = work.conn.execute(
        text(f"SELECT {_ROW} FROM backfill WHERE dag_id = :d AND id = :b" + (" FOR UPDATE" if lock else "")), {"d": dag_id, "b": backfill}
    ).one_or_none()
    if row is None:
        known = ", ".join(str(b.id) for b in of_dag(work, dag_id, 5))
        raise NotFound(f"DAG {dag_id!r} has no backfill {backfill}" + (f"; its newest are {known}" if known else "; it has none"))
    return BackfillRow(*row)


def pause(work: Work, row: BackfillRow, is_paused: bool) -> None:
    work.conn.execute(text("UPDATE backfill SET is_paused = :p WHERE id = :b"), {"p": is_paused, "b": row.id})
    work.dag_changed(row.dag_id)
    work.due()


def cancel(work: Work, row: BackfillRow, reason: str) -> None:
    """It is over, and its queued runs end as failed without having started."""
    ids = {"b": row.id, "reason": plain.text(reason)}
    work.conn.execute(
        text("UPDATE backfill SET is_cancelled = true, is_paused = false, completed_at = clock_timestamp() WHERE id = :b"), {"b": row.id}
    )
    ended = work.conn.execute(
        text(
            "UPDATE dag_run SET state = 'failed', reason = :reason, end_date = clock_timestamp() WHERE backfill_id = :b "
            "AND state = 'queued' RETURNING id"
        ),
        ids,
    ).scalars()
    for run in ended:
        work.run_changed(run)
    work.dag_changed(row.dag_id)


def running(work: Work, backfill: int) -> list[RunKey]:
    rows = work.conn.execute(
        text("SELECT id, dag_id, run_id, state, version FROM dag_run WHERE backfill_id = :b AND state = 'running' ORDER BY id FOR UPDATE"),
        {"b": backfill},
    )
    return [RunKey(*r) for r in rows]
