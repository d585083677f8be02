"""Rows for the read models; every query is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.errors import NotFound
from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class RunRow:
    id: int
    dag_id: str
    run_id: str
    state: str
    run_type: str
    logical_date: datetime
    start_date: datetime | None
    end_date: datetime | None
    version: str
    reason: str | None


_RUN = "r.id, r.dag_id, r.run_id, r.state, r.run_type, r.logical_date, r.start_date, r.end_date, r.version, r.reason"


def run(work: Work, run_id: int) -> RunRow | None:
    row = work.conn.execute(text(f"SELECT {_RUN} FROM dag_run r WHERE id = :id"), {"id": run_id}).one_or_none()
    return RunRow(*row) if row else None


def newest_runs(work: Work, dag_ids: Sequence[str], limit: int) -> list[RunRow]:
    """The newest ``limit`` of each DAG."""
    rows = work.conn.execute(
        text(
            f"SELECT {_RUN} FROM unnest(CAST(:dags AS text[])) AS w(dag_id), LATERAL (SELECT * FROM dag_run r "
            "WHERE r.dag_id = w.dag_id ORDER BY r.logical_date DESC, r.id DESC LIMIT :n) r"
        ),
        {"dags": list(dag_ids), "n": limit},
    )
    return [RunRow(*r) for r in rows]


def runs_of_backfill(work: Work, backfill: int, limit: int = 1000) -> list[RunRow]:
    rows = work.conn.execute(
        text(f"SELECT {_RUN} FROM dag_run r WHERE backfill_id = :b ORDER BY logical_date LIMIT :n"), {"b": backfill, "n": limit}
    )
    return [RunRow(*r) for r in rows]


def backfill_counts(work: Work, backfill: int) -> dict[str, int]:
    rows = work.conn.execute(text("SELECT state, count(*) AS n FROM dag_run WHERE backfill_id = :b GROUP BY state"), {"b": backfill})
    return {r.state: r.n for r in rows}


@dataclass(frozen=True, slots=True)
class DagListRow:
    dag_id: str
    is_paused: bool
    is_draft: bool
    schedule: str | None
    next_run_at: datetime | None
    tags: list[str]
    author: str
    description: str | None
    version: str
    schedule_error: str | None


_DAG = "dag_id, is_paused, is_draft, schedule, next_run_at, tags, author, description, version, schedule_error"


def dags(work: Work, search: str, limit: int) -> list[DagListRow]:
    """Active DAGs whose id, tag or description holds ``search``; plain text, no wildcards."""
    rows = work.conn.execute(
        text(
            f"SELECT {_DAG} FROM dag WHERE is_active AND (:s = '' OR strpos(lower(dag_id), :s) > 0 "
            "OR strpos(lower(coalesce(description, '')), :s) > 0 OR EXISTS (SELECT 1 FROM unnest(tags) t WHERE lower(t) = :s)) "
            "ORDER BY dag_id LIMIT :n"
        ),
        {"s": search.lower(), "n": limit},
    )
    return [DagListRow(*r) for r in rows]


def dag(work: Work, dag_id: str) -> DagListRow:
    return DagListRow(*work.conn.execute(text(f"SELECT {_DAG} FROM dag WHERE dag_id = :d"), {"d": dag_id}).one())


@dataclass(frozen=True, slots=True)
class StateCount:
    task_id: str
    state: str
    n: int
    first_index: int
    started: datetime | None
    ended: datetime | None
    try_number: int
    reason: str | None


def progress(work: Work, run: int) -> list[StateCount]:
    rows = work.conn.execute(
        text(
            "SELECT task_id, state, count(*) AS n, min(map_index), min(start_date), max(end_date), max(try_number), max(reason) "
            "FROM task_instance WHERE run = :run GROUP BY task_id, state"
        ),
        {"run": run},
    )
    return [StateCount(*r) for r in rows]


@dataclass(frozen=True, slots=True)
class InstanceRow:
    task_id: str
    map_index: int
    label: str | None
    state: str
    try_number: int
    max_tries: int
    start_date: datetime | None
    end_date: datetime | None
    hostname: str | None
    pid: int | None
    reason: str | None


_INSTANCE = "task_id, map_index, label, state, try_number, max_tries, start_date, end_date, hostname, pid, reason"


def instances(work: Work, run: int, task_id: str, offset: int, limit: int) -> list[InstanceRow]:
    rows = work.conn.execute(
        text(f"SELECT {_INSTANCE} FROM task_instance WHERE run = :run AND task_id = :t ORDER BY map_index OFFSET :o LIMIT :n"),
        {"run": run, "t": task_id, "o": offset, "n": limit},
    )
    return [InstanceRow(*r) for r in rows]


def instance(work: Work, run: int, task_id: str, map_index: int) -> InstanceRow:
    """``NotFound`` says which map indices there are."""
    row = work.conn.execute(
        text(f"SELECT {_INSTANCE} FROM task_instance WHERE run = :run AND task_id = :t AND map_index = :m"),
        {"run": run, "t": task_id, "m": map_index},
    ).one_or_none()
    if row is not None:
        return InstanceRow(*row)
    low, high = work.conn.execute(
        text("SELECT min(map_index), max(map_index) FROM task_instance WHERE run = :run AND task_id = :t"), {"run": run, "t": task_id}
    ).one()
    if low is None:
        raise NotFound(f"task {task_id!r} has no instances yet: its run has not started")
    known = f"it has map_index {low} to {high}" if high >= 0 else "it is not mapped (leave map_index out)"
    raise NotFound(f"task {task_id!r} has no instance with map_index {map_index}; {known}")


def most_telling(work: Work, run: int) -> InstanceRow | None:
    """Whose log people want to see: what failed last, else what runs, else what ended last."""
    row = work.conn.execute(
        text(
            f"SELECT {_INSTANCE} FROM task_instance WHERE run = :run AND start_date IS NOT NULL ORDER BY "
            "CASE WHEN state IN ('failed', 'up_for_retry') THEN 0 WHEN state = 'running' THEN 1 ELSE 2 END, "
            "coalesce(end_date, start_date) DESC, map_index LIMIT 1"
        ),
        {"run": run},
    ).one_or_none()
    return InstanceRow(*row) if row else None


@dataclass(frozen=True, slots=True)
class XComRow:
    key: str
    map_index: int
    codec: str
    value: bytes
    preview: dict[str, Any]


def xcom(work: Work, run: int, task_id: str, map_index: int, key: str) -> XComRow | None:
    row = work.conn.execute(
        text("SELECT key, map_index, codec, value, preview FROM xcom WHERE run = :r AND task_id = :t AND map_index = :m AND key = :k"),
        {"r": run, "t": task_id, "m": map_index, "k": key},
    ).one_or_none()
    return XComRow(row.key, row.map_index, row.codec, bytes(row.value), row.preview) if row else None


def xcom_keys(work: Work, run: int, task_id: str, map_index: int) -> list[str]:
    return list(
        work.conn.execute(
            text("SELECT key FROM xcom WHERE run = :r AND task_id = :t AND map_index = :m ORDER BY key LIMIT 100"),
            {"r": run, "t": task_id, "m": map_index},
        ).scalars()
    )


def versions(work: Work, dag_id: str, limit: int = 100) -> list[tuple[str, int, datetime]]:
    rows = work.conn.execute(
        text("SELECT version, number, created_at FROM dag_version WHERE dag_id = :d ORDER BY number DESC LIMIT :n"),
        {"d": dag_id, "n": limit},
    )
    return [(r.version, r.number, r.created_at) for r in rows]


def server_version(work: Work) -> str:
    return str(work.conn.execute(text("SHOW server_version")).scalar_one()).split()[0]


def now(work: Work) -> datetime:
    at: datetime = work.conn.execute(text("SELECT clock_timestamp()")).scalar_one()
    return at
