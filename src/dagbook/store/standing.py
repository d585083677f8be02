"""Who stands where in a line, for people who ask why something waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dagbook.store.due import DueRun
from dagbook.store.work import Work


def component_ages(work: Work) -> dict[str, float]:
    """Seconds since the last beat of the liveliest component of each kind that has ever run."""
    rows = work.conn.execute(
        text("SELECT kind, min(extract(epoch FROM clock_timestamp() - heartbeat_at))::float AS age FROM job GROUP BY kind")
    )
    return {r.kind: r.age for r in rows}


def unfinished_scheduled(work: Work, dag_id: str) -> list[str]:
    """Run ids that count against the DAG's max_active_runs when the next scheduled run is due."""
    return list(
        work.conn.execute(
            text(
                "SELECT run_id FROM dag_run WHERE dag_id = :d AND run_type = 'scheduled' AND state IN ('queued', 'running') "
                "ORDER BY logical_date LIMIT 1000"
            ),
            {"d": dag_id},
        ).scalars()
    )


@dataclass(frozen=True, slots=True)
class Line:
    """Where a queued run stands: who holds the places, how many there are, and how many queued runs go before it."""

    running: list[str]
    limit: int
    ahead: int
    backfill: int | None
    backfill_paused: bool


def line_of_run(work: Work, run: int) -> Line:
    r = work.conn.execute(
        text(
            "SELECT r.dag_id, r.backfill_id, r.sort_key, r.logical_date, coalesce(b.max_active_runs, d.max_active_runs) AS places, "
            "coalesce(b.is_paused, false) AS is_paused "
            "FROM dag_run r JOIN dag d ON d.dag_id = r.dag_id LEFT JOIN backfill b ON b.id = r.backfill_id WHERE r.id = :run"
        ),
        {"run": run},
    ).one()
    same = {"d": r.dag_id, "b": r.backfill_id, "run": run, "key": r.sort_key, "at": r.logical_date}
    running = work.conn.execute(
        text(
            "SELECT run_id FROM dag_run WHERE dag_id = :d AND state = 'running' AND backfill_id IS NOT DISTINCT FROM CAST(:b AS bigint) "
            "AND NOT (is_stalled AND logical_date > :at) ORDER BY logical_date LIMIT 1000"
        ),
        same,
    ).scalars()
    ahead = work.conn.execute(
        text(
            "SELECT count(*) FROM dag_run WHERE dag_id = :d AND state = 'queued' AND backfill_id IS NOT DISTINCT FROM CAST(:b AS bigint) "
            "AND (sort_key, logical_date, id) < (:key, :at, :run)"
        ),
        same,
    ).scalar_one()
    return Line(list(running), r.places, int(ahead), r.backfill_id, r.is_paused)


def look_at(work: Work, run: int) -> DueRun:
    """A run as a scheduler would judge it, without taking it."""
    r = work.conn.execute(
        text("SELECT id, version, state, logical_date, queued_at, timeout_at, missed, is_stalled FROM dag_run WHERE id = :run"),
        {"run": run},
    ).one()
    return DueRun(r.id, r.version, r.state, r.logical_date, r.queued_at, r.timeout_at, tuple(r.missed), r.is_stalled, False)


@dataclass(frozen=True, slots=True)
class Standing:
    """An instance with what it waits for.  ``ahead``: scheduled instances of its pool that go before it."""

    task_id: str
    map_index: int
    state: str
    try_number: int
    max_tries: int
    reason: str | None
    not_before: datetime | None
    start_date: datetime | None
    queued_at: datetime | None
    hostname: str | None
    pid: int | None
    pool: str
    pool_slots: int
    dag_id: str
    most_per_dag: int | None
    most_per_run: int | None
    trigger: str | None
    ahead: int


_STANDING = """
    SELECT t.task_id, t.map_index, t.state, t.try_number, t.max_tries, t.reason, t.not_before, t.start_date, t.queued_at, t.hostname, t.pid,
           t.pool, t.pool_slots, t.dag_id, t.most_per_dag, t.most_per_run,
           (SELECT g.classpath FROM trigger g
            WHERE g.run = t.run AND g.task_id = t.task_id AND g.map_index = t.map_index LIMIT 1) AS trigger,
           CASE WHEN t.state = 'scheduled' THEN
               (SELECT count(*) FROM task_instance o WHERE o.state = 'scheduled' AND o.pool = t.pool
                AND (-o.priority_weight, o.logical_date, o.run, o.task_id, o.map_index)
                    < (-t.priority_weight, t.logical_date, t.run, t.task_id, t.map_index)) ELSE 0 END AS ahead
"""


def instances(work: Work, run: int) -> list[Standing]:
    """One for each state that a task's instances are in: its first."""
    rows = work.conn.execute(
        text(
            f"{_STANDING} FROM (SELECT DISTINCT ON (task_id, state) * FROM task_instance WHERE run = :run "
            "ORDER BY task_id, state, map_index) t"
        ),
        {"run": run},
    )
    return [Standing(*r) for r in rows]


def instance(work: Work, run: int, task_id: str, map_index: int) -> Standing:
    return Standing(
        *work.conn.execute(
            text(f"{_STANDING} FROM task_instance t WHERE run = :run AND task_id = :t AND map_index = :m"),
            {"run": run, "t": task_id, "m": map_index},
        ).one()
    )


def holders(work: Work, pool: str, limit: int = 10) -> list[str]:
    """Who holds slots of ``pool``, the largest share first, in words."""
    rows = work.conn.execute(
        text(
            "SELECT t.dag_id, r.run_id, t.task_id, sum(t.pool_slots) AS slots FROM task_instance t JOIN dag_run r ON r.id = t.run "
            "JOIN pool p ON p.name = t.pool WHERE t.pool = :p AND (t.state IN ('queued', 'running') "
            "OR (t.state = 'deferred' AND p.include_deferred)) GROUP BY 1, 2, 3 ORDER BY slots DESC, 1, 2, 3 LIMIT :n"
        ),
        {"p": pool, "n": limit},
    )
    return [f"{r.dag_id}.{r.task_id} of {r.run_id} ({r.slots})" for r in rows]


def in_executors(work: Work) -> int:
    """Instances that executors hold: queued and running ones."""
    return int(work.conn.execute(text("SELECT count(*) FROM task_instance WHERE state IN ('queued', 'running')")).scalar_one())


def file_fault(work: Work, path: str | None) -> tuple[str, int | None, str] | None:
    """Path, line and message where the file can't be read as it is now."""
    row = work.conn.execute(
        text("SELECT path, error_line, error FROM dag_file WHERE path = :p AND error IS NOT NULL"), {"p": path}
    ).one_or_none()
    return (row.path, row.error_line, row.error) if row else None
