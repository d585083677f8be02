"""scheduled → queued: candidates and capacity are read, and the winners written, under one lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text

from dagbook.decide.admit import Candidate, Capacity
from dagbook.decide.snapshot import TaskKey
from dagbook.store import plain
from dagbook.store.work import Work

# The look-ahead is by pool, so that a full pool never starves another; a DAG or task at its limit is left out of it.
_CANDIDATES = text("""
    SELECT c.run, c.task_id, c.map_index, c.dag_id, c.pool, c.pool_slots, c.most_per_dag, c.most_per_run
    FROM (SELECT DISTINCT pool FROM pool p CROSS JOIN LATERAL (
              SELECT pool FROM task_instance WHERE state = 'scheduled' AND pool = p.name LIMIT 1) s) AS busy,
         LATERAL (SELECT * FROM task_instance
                  WHERE state = 'scheduled' AND pool = busy.pool AND NOT dag_id = ANY(:full_dags)
                    AND (most_per_dag IS NULL OR NOT (dag_id, task_id) IN (SELECT * FROM unnest(CAST(:d AS text[]), CAST(:t AS text[]))))
                    AND (most_per_run IS NULL OR NOT (run, task_id) IN (SELECT * FROM unnest(CAST(:r AS bigint[]), CAST(:u AS text[]))))
                  ORDER BY priority_weight DESC, logical_date, run, task_id, map_index LIMIT :look_ahead) AS c
    ORDER BY c.priority_weight DESC, c.logical_date, c.run, c.task_id, c.map_index
""")

_OCCUPIED = text("""
    SELECT pool, dag_id, count(*) AS n, sum(pool_slots) AS slots
    FROM task_instance WHERE state IN ('queued', 'running') GROUP BY pool, dag_id
""")

# Deferred instances hold slots where their pool says so; they hold no worker, so they don't count against max_active_tasks.
_DEFERRED = text("""
    SELECT t.pool, sum(t.pool_slots) AS slots FROM task_instance t JOIN pool p ON p.name = t.pool AND p.include_deferred
    WHERE t.state = 'deferred' GROUP BY t.pool
""")

_LIMITED = text("""
    SELECT dag_id, task_id, run, count(*) AS n, max(most_per_dag) AS most_per_dag, max(most_per_run) AS most_per_run FROM task_instance
    WHERE state IN ('queued', 'running', 'deferred') AND (most_per_dag IS NOT NULL OR most_per_run IS NOT NULL)
    GROUP BY dag_id, task_id, run
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


@dataclass(frozen=True, slots=True)
class Full:
    """Tasks that are at a limit of their own, in all runs or in one."""

    in_dag: tuple[tuple[str, str], ...] = ()
    in_run: tuple[tuple[int, str], ...] = ()


def capacity(work: Work, room: int) -> tuple[Capacity, Full]:
    """What is free now, and who can't have any of it.  Call under ``due.one_at_a_time``."""
    sizes = {r.name: r.slots for r in work.conn.execute(text("SELECT name, slots FROM pool"))}
    pools = dict(sizes)
    taken: dict[str, int] = {}
    for r in work.conn.execute(_OCCUPIED):
        pools[r.pool] = pools.get(r.pool, 0) - r.slots
        taken[r.dag_id] = taken.get(r.dag_id, 0) + r.n
    for r in work.conn.execute(_DEFERRED):
        pools[r.pool] -= r.slots
    limits = work.conn.execute(
        text(
            "SELECT dag_id, max_active_tasks FROM dag WHERE dag_id IN (SELECT DISTINCT dag_id FROM task_instance WHERE state = 'scheduled')"
        )
    )
    free = {r.dag_id: r.max_active_tasks - taken.get(r.dag_id, 0) for r in limits}
    in_dag, in_run, full = _limited(work)
    return Capacity(pools, sizes, free, room, in_dag, in_run), full


def _limited(work: Work) -> tuple[dict[tuple[str, str], int], dict[tuple[int, str], int], Full]:
    in_dag: dict[tuple[str, str], int] = {}
    in_run: dict[tuple[int, str], int] = {}
    full_dag: dict[tuple[str, str], None] = {}
    full_run: dict[tuple[int, str], None] = {}
    for r in work.conn.execute(_LIMITED):
        dag, run = (r.dag_id, r.task_id), (r.run, r.task_id)
        in_dag[dag], in_run[run] = in_dag.get(dag, 0) + r.n, r.n
        if r.most_per_dag is not None and in_dag[dag] >= r.most_per_dag:
            full_dag[dag] = None
        if r.most_per_run is not None and r.n >= r.most_per_run:
            full_run[run] = None
    return in_dag, in_run, Full(tuple(full_dag), tuple(full_run))


def candidates(work: Work, free: Capacity, full: Full, look_ahead: int) -> list[Candidate]:
    rows = work.conn.execute(
        _CANDIDATES,
        {
            "full_dags": [d for d, n in free.dags.items() if n <= 0],
            "look_ahead": look_ahead,
            "d": [d for d, _ in full.in_dag],
            "t": [t for _, t in full.in_dag],
            "r": [r for r, _ in full.in_run],
            "u": [t for _, t in full.in_run],
        },
    )
    return [Candidate(TaskKey(r.run, r.task_id, r.map_index), r.dag_id, r.pool, r.pool_slots, r.most_per_dag, r.most_per_run) for r in rows]


def queue(work: Work, keys: Sequence[TaskKey], job: int) -> list[Queued]:
    """Those of ``keys`` that were still scheduled are ``job``'s now, in the given order."""
    if not keys:
        return []
    rows = work.conn.execute(
        _QUEUE,
        {
            "runs": [k.run for k in keys],
            "task_ids": [k.task_id for k in keys],
            "map_indexes": [k.map_index for k in keys],
            "job": job,
        },
    )
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
        text(
            "UPDATE task_instance ti SET reason = w.reason FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), "
            "CAST(:map_indexes AS int[]), CAST(:reasons AS text[])) AS w(run, task_id, map_index, reason) "
            "WHERE ti.run = w.run AND ti.task_id = w.task_id AND ti.map_index = w.map_index AND ti.state = 'scheduled' "
            "AND ti.reason IS DISTINCT FROM w.reason"
        ),
        {
            "runs": [k.run for k in reasons],
            "task_ids": [k.task_id for k in reasons],
            "map_indexes": [k.map_index for k in reasons],
            "reasons": [plain.text(r) for r in reasons.values()],
        },
    )


def waiting_elsewhere(work: Work) -> dict[TaskKey, str]:
    """Scheduled instances whose pool doesn't exist, with the reason to show."""
    rows = work.conn.execute(
        text(
            "SELECT run, task_id, map_index, pool FROM task_instance WHERE state = 'scheduled' "
            "AND pool NOT IN (SELECT name FROM pool) AND reason IS NULL LIMIT 1000"
        )
    )
    return {TaskKey(r.run, r.task_id, r.map_index): f"pool {r.pool!r} doesn't exist" for r in rows}


def anything_scheduled(work: Work) -> bool:
    return bool(work.conn.execute(text("SELECT EXISTS (SELECT 1 FROM task_instance WHERE state = 'scheduled')")).scalar_one())
