"""scheduled → queued: candidates and capacity are read, and the winners written, under one lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dagbook.decide.admit import Candidate, Capacity
from dagbook.decide.snapshot import TaskKey
from dagbook.store import plain
from dagbook.store.work import Work

# The look-ahead is by pool, so that a full pool never starves another; a DAG at its limit is left out of it.
_CANDIDATES = text("""
    SELECT c.run, c.task_id, c.map_index, c.dag_id, c.pool, c.pool_slots
    FROM (SELECT DISTINCT pool FROM pool p CROSS JOIN LATERAL (
              SELECT pool FROM task_instance WHERE state = 'scheduled' AND pool = p.name LIMIT 1) s) AS busy,
         LATERAL (SELECT * FROM task_instance
                  WHERE state = 'scheduled' AND pool = busy.pool AND NOT dag_id = ANY(:full_dags)
                  ORDER BY priority_weight DESC, logical_date, run, task_id, map_index LIMIT :look_ahead) AS c
    ORDER BY c.priority_weight DESC, c.logical_date, c.run, c.task_id, c.map_index
""")

_OCCUPIED = text("""
    SELECT pool, dag_id, count(*) AS n, sum(pool_slots) AS slots
    FROM task_instance WHERE state IN ('queued', 'running') GROUP BY pool, dag_id
""")

_QUEUE = text("""
    UPDATE task_instance ti SET state = 'queued', queued_at = clock_timestamp(), job_id = :job, reason = NULL
    FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:map_indexes AS int[])) AS w(run, task_id, map_index),
         dag_run r
    WHERE ti.run = w.run AND ti.task_id = w.task_id AND ti.map_index = w.map_index AND ti.state = 'scheduled'
      AND r.id = ti.run
    RETURNING ti.run, ti.task_id, ti.map_index, ti.dag_id, ti.queue, r.run_id, r.version,
              ti.try_number + CASE WHEN ti.next_method IS NULL THEN 1 ELSE 0 END AS try_number
""")


@dataclass(frozen=True, slots=True)
class Queued:
    """An instance that was just queued; ``try_number``: the one that its worker will claim."""

    run: int
    task_id: str
    map_index: int
    dag_id: str
    queue: str
    run_id: str
    version: str
    try_number: int


def capacity(work: Work, room: int) -> Capacity:
    """What is free now.  Call under ``due.one_at_a_time``."""
    sizes = {r.name: r.slots for r in work.conn.execute(text("SELECT name, slots FROM pool"))}
    pools = dict(sizes)
    taken: dict[str, int] = {}
    for r in work.conn.execute(_OCCUPIED):
        pools[r.pool] = pools.get(r.pool, 0) - r.slots
        taken[r.dag_id] = taken.get(r.dag_id, 0) + r.n
    limits = work.conn.execute(text(
        "SELECT dag_id, max_active_tasks FROM dag WHERE dag_id IN "
        "(SELECT DISTINCT dag_id FROM task_instance WHERE state = 'scheduled')"
    ))
    return Capacity(pools, sizes, {r.dag_id: r.max_active_tasks - taken.get(r.dag_id, 0) for r in limits}, room)


def candidates(work: Work, free: Capacity, look_ahead: int) -> list[Candidate]:
    rows = work.conn.execute(
        _CANDIDATES, {"full_dags": [d for d, n in free.dags.items() if n <= 0], "look_ahead": look_ahead}
    )
    return [Candidate(TaskKey(r.run, r.task_id, r.map_index), r.dag_id, r.pool, r.pool_slots) for r in rows]


def queue(work: Work, keys: Sequence[TaskKey], job: int) -> list[Queued]:
    """Those of ``keys`` that were still scheduled are ``job``'s now, in the given order."""
    if not keys:
        return []
    rows = work.conn.execute(_QUEUE, {
        "runs": [k.run for k in keys], "task_ids": [k.task_id for k in keys], "map_indexes": [k.map_index for k in keys],
        "job": job,
    })
    place = {(k.run, k.task_id, k.map_index): i for i, k in enumerate(keys)}
    queued = sorted((Queued(*r) for r in rows), key=lambda q: place[q.run, q.task_id, q.map_index])
    for q in queued:
        work.run_changed(q.run)
    return queued


def say(work: Work, reasons: Mapping[TaskKey, str]) -> None:
    """Put on each instance why it can't be queued, where that is news."""
    if not reasons:
        return
    work.conn.execute(
        text("UPDATE task_instance ti SET reason = w.reason FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), "
             "CAST(:map_indexes AS int[]), CAST(:reasons AS text[])) AS w(run, task_id, map_index, reason) "
             "WHERE ti.run = w.run AND ti.task_id = w.task_id AND ti.map_index = w.map_index AND ti.state = 'scheduled' "
             "AND ti.reason IS DISTINCT FROM w.reason"),
        {"runs": [k.run for k in reasons], "task_ids": [k.task_id for k in reasons],
         "map_indexes": [k.map_index for k in reasons], "reasons": [plain.text(r) for r in reasons.values()]},
    )


def waiting_elsewhere(work: Work) -> dict[TaskKey, str]:
    """Scheduled instances whose pool doesn't exist, with the reason to show."""
    rows = work.conn.execute(text(
        "SELECT run, task_id, map_index, pool FROM task_instance WHERE state = 'scheduled' "
        "AND pool NOT IN (SELECT name FROM pool) AND reason IS NULL LIMIT 1000"
    ))
    return {TaskKey(r.run, r.task_id, r.map_index): f"pool {r.pool!r} doesn't exist" for r in rows}


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
        """), {"limit": limit},
    )
    return [DueDag(*r) for r in rows]


def anything_to_start(work: Work) -> bool:
    """Cheap enough to ask every tick: does a queued run or a due DAG exist?"""
    return bool(work.conn.execute(text(
        "SELECT EXISTS (SELECT 1 FROM dag_run WHERE state = 'queued') OR EXISTS (SELECT 1 FROM dag "
        "WHERE next_run_at <= clock_timestamp() AND next_run_at IS NOT NULL AND NOT is_paused AND is_active)"
    )).scalar_one())


def anything_scheduled(work: Work) -> bool:
    return bool(work.conn.execute(text("SELECT EXISTS (SELECT 1 FROM task_instance WHERE state = 'scheduled')")).scalar_one())
