"""Clear: instances go back to none, so that their run does them again.  Their tries stay in the history."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dagbook.spec.models import DagSpec
from dagbook.store import due, runs
from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class ClearableRun:
    """A run whose row is locked."""

    id: int
    dag_id: str
    run_id: str
    state: str
    version: str
    logical_date: datetime
    backfill_id: int | None


_RUNS = "SELECT id, dag_id, run_id, state, version, logical_date, backfill_id FROM dag_run WHERE dag_id = :d AND state <> 'queued' "


def runs_between(work: Work, dag_id: str, start: datetime | None, end: datetime | None, limit: int) -> list[ClearableRun]:
    """Runs that have started, with a logical date in [start, end], oldest first."""
    rows = work.conn.execute(
        text(
            _RUNS
            + "AND (CAST(:s AS timestamptz) IS NULL OR logical_date >= :s) AND (CAST(:e AS timestamptz) IS NULL OR logical_date <= :e) "
            "ORDER BY logical_date, id LIMIT :n FOR UPDATE"
        ),
        {"d": dag_id, "s": start, "e": end, "n": limit},
    )
    return [ClearableRun(*r) for r in rows]


def one_run(work: Work, dag_id: str, run_id: str) -> list[ClearableRun]:
    """The run, or nothing where it has not started."""
    return [ClearableRun(*r) for r in work.conn.execute(text(_RUNS + "AND run_id = :r FOR UPDATE"), {"d": dag_id, "r": run_id})]


@dataclass(frozen=True, slots=True)
class Clearable:
    run: int
    task_id: str
    map_index: int
    state: str
    try_number: int


def instances(work: Work, run_ids: Sequence[int], task_ids: Collection[str], states: Sequence[str] | None) -> list[Clearable]:
    """What of ``task_ids`` could be cleared; held until this transaction ends."""
    rows = work.conn.execute(
        text(
            "SELECT run, task_id, map_index, state, try_number FROM task_instance WHERE run = ANY(:runs) AND task_id = ANY(:tasks) "
            "AND state NOT IN ('none', 'removed', 'restarting') AND (CAST(:states AS text[]) IS NULL OR state = ANY(:states)) "
            "ORDER BY run, task_id, map_index FOR UPDATE"
        ),
        {"runs": list(run_ids), "tasks": list(task_ids), "states": None if states is None else list(states)},
    )
    return [Clearable(*r) for r in rows]


_KEYS = "unnest(CAST(:runs AS bigint[]), CAST(:tasks AS text[]), CAST(:indexes AS int[])) AS w(run, task_id, map_index)"
_MATCH = "ti.run = w.run AND ti.task_id = w.task_id AND ti.map_index = w.map_index"

# A try that was under way is over, without a word to the author's callbacks.
_HISTORY = text(f"""
    INSERT INTO task_instance_history (run, task_id, map_index, try_number, state, reason, queued_at, start_date, end_date, hostname, pid)
    SELECT ti.run, ti.task_id, ti.map_index, ti.try_number, 'restarting', 'cleared while it ran', ti.queued_at, ti.start_date,
           clock_timestamp(), ti.hostname, ti.pid
    FROM task_instance ti JOIN {_KEYS} ON {_MATCH} WHERE ti.state IN ('running', 'deferred', 'up_for_reschedule') AND ti.try_number > 0
    ON CONFLICT DO NOTHING
""")

# Each is a way of moves in the table, taken at once; what runs is stopped by its executor first.
_CLEAR = text(f"""
    UPDATE task_instance ti
    SET state = CASE ti.state WHEN 'running' THEN 'restarting' ELSE 'none' END,
        job_id = CASE ti.state WHEN 'running' THEN ti.job_id END,
        lost_count = 0,
        reason = NULL, label = NULL, not_before = NULL, queued_at = NULL, start_date = NULL, end_date = NULL, next_method = NULL,
        next_event = NULL, untaken = NULL
    FROM {_KEYS} WHERE {_MATCH}
""")

_FORGET = text(f"DELETE FROM xcom ti USING {_KEYS} WHERE {_MATCH}")
_DETACH = text(f"DELETE FROM trigger ti USING {_KEYS} WHERE {_MATCH}")


def clear(work: Work, found: Sequence[Clearable]) -> None:
    """Those that ``instances`` gave, in the same transaction."""
    keys = {"runs": [c.run for c in found], "tasks": [c.task_id for c in found], "indexes": [c.map_index for c in found]}
    for statement in (_HISTORY, _CLEAR, _FORGET, _DETACH):
        work.conn.execute(statement, keys)


# What waits now is as the version says; a try that has been made stays counted, and the retries are granted anew.
_AS_SPECIFIED = text("""
    UPDATE task_instance ti
    SET max_tries = ti.try_number + t.max_tries, operator = t.operator, pool = t.pool, pool_slots = t.pool_slots,
        priority_weight = t.priority_weight, queue = t.queue, most_per_dag = t.most_per_dag, most_per_run = t.most_per_run,
        callbacks = string_to_array(t.callbacks, ',')
    FROM unnest(CAST(:task_ids AS text[]), CAST(:max_tries AS int[]), CAST(:operators AS text[]), CAST(:pools AS text[]),
                CAST(:slots AS int[]), CAST(:weights AS int[]), CAST(:queues AS text[]), CAST(:most_per_dag AS int[]),
                CAST(:most_per_run AS int[]), CAST(:callbacks AS text[]))
         AS t(task_id, max_tries, operator, pool, pool_slots, priority_weight, queue, most_per_dag, most_per_run, callbacks)
    WHERE ti.run = :run AND ti.task_id = t.task_id AND ti.state IN ('none', 'restarting')
""")


def start_again(work: Work, run: ClearableRun, version: str, spec: DagSpec, max_map_length: int) -> None:
    """The run goes on by ``version``, from the queue if it had ended."""
    if version != run.version:
        _adopt(work, run, version, spec, max_map_length)
    work.conn.execute(_AS_SPECIFIED, {**runs.task_arrays(spec), "run": run.id})
    work.conn.execute(
        text(
            "UPDATE dag_run SET state = 'queued', start_date = NULL, end_date = NULL, reason = NULL, missed = '{}', timeout_at = NULL, "
            "is_stalled = false, queued_at = clock_timestamp() WHERE id = :run AND state IN ('success', 'failed')"
        ),
        {"run": run.id},
    )
    if run.backfill_id is not None:
        work.conn.execute(text("UPDATE backfill SET completed_at = NULL WHERE id = :b"), {"b": run.backfill_id})
    due.put(work, [run.id])
    work.run_changed(run.id)
    work.dag_changed(run.dag_id)


def _adopt(work: Work, run: ClearableRun, version: str, spec: DagSpec, max_map_length: int) -> None:
    """Tasks that the version doesn't have are removed (what runs of them is stopped), those that are new are made."""
    tasks = {"run": run.id, "tasks": list(spec.task_ids), "single": [t.task_id for t in spec.tasks if not t.mapped]}
    work.conn.execute(text("UPDATE dag_run SET version = :v WHERE id = :run"), {"v": version, "run": run.id})
    work.conn.execute(
        text(
            "UPDATE task_instance SET state = CASE WHEN state IN ('running', 'restarting') THEN 'restarting' ELSE 'removed' END, "
            "reason = 'not in the version that the run goes on by' WHERE run = :run AND NOT task_id = ANY(:tasks)"
        ),
        tasks,
    )
    work.conn.execute(text("DELETE FROM trigger WHERE run = :run AND NOT task_id = ANY(:tasks)"), tasks)
    # What is no longer mapped, or is back after it was gone, starts from nothing.
    work.conn.execute(
        text(
            "DELETE FROM task_instance ti WHERE run = :run AND ((task_id = ANY(:single) AND map_index >= 0) OR (task_id = ANY(:tasks) "
            "AND NOT EXISTS (SELECT 1 FROM task_instance o WHERE o.run = :run AND o.task_id = ti.task_id AND o.state <> 'removed')))"
        ),
        tasks,
    )
    runs.create_instances(work, run.id, run.dag_id, run.logical_date, spec, max_map_length)
