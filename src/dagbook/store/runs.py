"""Runs: made as one row, given their task instances when they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.decide.deadlines import deadlines
from dagbook.decide.expand import Refused, expansion_count
from dagbook.decide.snapshot import UNMAPPED
from dagbook.errors import NotFound, nearest
from dagbook.spec.models import DagSpec, DataInterval, TaskSpec
from dagbook.states import RunType
from dagbook.store import due, plain
from dagbook.store.reports import write_history
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.tasks import PreviousSuccess, TryKey


@dataclass(frozen=True, slots=True)
class NewRun:
    dag_id: str
    run_id: str
    version: str
    run_type: RunType
    logical_date: datetime
    interval: DataInterval
    sort_key: int = 0


_INSERT_RUNS = text("""
    INSERT INTO dag_run (dag_id, run_id, version, state, run_type, logical_date, data_interval_start,
                         data_interval_end, conf, params, backfill_id, sort_key)
    SELECT w.dag_id, w.run_id, w.version, 'queued', w.run_type, w.logical_date, w.starts, w.ends,
           CAST(:conf AS jsonb), CAST(:params AS jsonb), :backfill_id, w.sort_key
    FROM unnest(CAST(:dag_ids AS text[]), CAST(:run_ids AS text[]), CAST(:versions AS text[]),
                CAST(:run_types AS text[]), CAST(:logical_dates AS timestamptz[]), CAST(:starts AS timestamptz[]),
                CAST(:ends AS timestamptz[]), CAST(:sort_keys AS bigint[]))
         AS w(dag_id, run_id, version, run_type, logical_date, starts, ends, sort_key)
    ORDER BY w.sort_key
    ON CONFLICT DO NOTHING
    RETURNING id
""")


def insert(
    work: Work,
    runs: Sequence[NewRun],
    conf: dict[str, Any] | None = None,
    params: dict[str, Any] | None = None,
    backfill_id: int | None = None,
) -> list[int]:
    """Queue ``runs``; those whose run id, or scheduled date, is taken are left out of the answer."""
    made = list(
        work.conn.execute(
            _INSERT_RUNS,
            {
                "dag_ids": [r.dag_id for r in runs],
                "run_ids": [r.run_id for r in runs],
                "versions": [r.version for r in runs],
                "run_types": [r.run_type.value for r in runs],
                "logical_dates": [r.logical_date for r in runs],
                "starts": [r.interval.start for r in runs],
                "ends": [r.interval.end for r in runs],
                "sort_keys": [r.sort_key for r in runs],
                "backfill_id": backfill_id,
                "conf": plain.document(conf or {}),
                "params": plain.document(params or {}),
            },
        ).scalars()
    )
    for run in runs:
        work.dag_changed(run.dag_id)
    work.due()
    return made


# The oldest queued runs of each DAG, and of each backfill, as far as their own limit allows.
_START = text("""
    WITH waiting AS (
        SELECT r.id, row_number() OVER (
                 PARTITION BY r.dag_id, r.backfill_id ORDER BY r.sort_key, r.logical_date, r.id) AS place,
               CASE WHEN b.id IS NOT NULL THEN b.max_active_runs ELSE d.max_active_runs END
               - (SELECT count(*) FROM dag_run o WHERE o.dag_id = r.dag_id AND o.state = 'running'
                  AND NOT (o.is_stalled AND o.logical_date > r.logical_date) AND o.backfill_id IS NOT DISTINCT FROM r.backfill_id) AS free
        FROM dag_run r JOIN dag d ON d.dag_id = r.dag_id LEFT JOIN backfill b ON b.id = r.backfill_id
        WHERE r.state = 'queued' AND NOT coalesce(b.is_paused, d.is_paused)
    )
    UPDATE dag_run r SET state = 'running', start_date = clock_timestamp(), reason = NULL
    FROM waiting w WHERE r.id = w.id AND w.place <= w.free AND r.state = 'queued'
    RETURNING r.id, r.dag_id, r.version, r.logical_date, r.start_date, r.queued_at
""")


def start_waiting(work: Work, versions: Versions, max_map_length: int) -> list[int]:
    """Start queued runs within ``max_active_runs``, with their task instances.  Call under ``due.one_at_a_time``."""
    started = work.conn.execute(_START).all()
    if not started:
        return []
    specs = versions.specs(work, [r.version for r in started])
    for run in started:
        spec = specs[run.version]
        create_instances(work, run.id, run.dag_id, run.logical_date, spec, max_map_length)
        _set_alarms(work, run.id, spec, run.start_date, run.logical_date, run.queued_at)
        work.run_changed(run.id)
        work.dag_changed(run.dag_id)
    due.put(work, [r.id for r in started])
    return [r.id for r in started]


def _set_alarms(work: Work, run: int, spec: DagSpec, started: datetime, logical_date: datetime, queued_at: datetime) -> None:
    """It is looked at when its time-out or a deadline comes, whatever else happens."""
    at = [at for _, at in deadlines(spec, logical_date, queued_at)]
    if spec.dagrun_timeout is not None:
        at.append(started + spec.dagrun_timeout)
        work.conn.execute(text("UPDATE dag_run SET timeout_at = :at WHERE id = :run"), {"run": run, "at": at[-1]})
    for moment in sorted(set(at)):
        due.put(work, [run], moment)


# A run that was cleared has history: its tries go on counting from there.  A mapped task that has instances keeps them.
_INSERT_INSTANCES = text("""
    INSERT INTO task_instance (run, task_id, map_index, dag_id, logical_date, try_number, max_tries, operator, pool,
                               pool_slots, priority_weight, queue, most_per_dag, most_per_run, callbacks)
    SELECT :run, t.task_id, i, :dag_id, :logical_date, h.tries, h.tries + t.max_tries, t.operator, t.pool,
           t.pool_slots, t.priority_weight, t.queue, t.most_per_dag, t.most_per_run, string_to_array(t.callbacks, ',')
    FROM unnest(CAST(:task_ids AS text[]), CAST(:first AS int[]), CAST(:last AS int[]), CAST(:max_tries AS int[]),
                CAST(:operators AS text[]), CAST(:pools AS text[]), CAST(:slots AS int[]), CAST(:weights AS int[]),
                CAST(:queues AS text[]), CAST(:most_per_dag AS int[]), CAST(:most_per_run AS int[]), CAST(:callbacks AS text[]))
         AS t(task_id, first, last, max_tries, operator, pool, pool_slots, priority_weight, queue, most_per_dag, most_per_run, callbacks),
         generate_series(t.first, t.last) AS i,
         LATERAL (SELECT coalesce(max(try_number), 0) AS tries FROM task_instance_history
                  WHERE run = :run AND task_id = t.task_id AND map_index = i) h
    WHERE NOT EXISTS (SELECT 1 FROM task_instance o WHERE o.run = :run AND o.task_id = t.task_id)
    ON CONFLICT DO NOTHING
""")


def create_instances(work: Work, run: int, dag_id: str, logical_date: datetime, spec: DagSpec, max_map_length: int) -> None:
    ranges = [_map_range(t, max_map_length) for t in spec.tasks]
    work.conn.execute(
        _INSERT_INSTANCES,
        {
            **task_arrays(spec),
            "run": run,
            "dag_id": dag_id,
            "logical_date": logical_date,
            "first": [r[0] for r in ranges],
            "last": [r[1] for r in ranges],
        },
    )


def task_arrays(spec: DagSpec) -> dict[str, Any]:
    """What instances carry of their tasks, as query arguments."""
    return {
        "task_ids": [t.task_id for t in spec.tasks],
        "max_tries": [t.retry.limit + 1 for t in spec.tasks],
        "operators": [t.operator for t in spec.tasks],
        "pools": [t.pool for t in spec.tasks],
        "slots": [t.pool_slots for t in spec.tasks],
        "weights": [t.priority_weight for t in spec.tasks],
        "queues": [t.queue for t in spec.tasks],
        "most_per_dag": [t.max_active_tis_per_dag for t in spec.tasks],
        "most_per_run": [t.max_active_tis_per_dagrun for t in spec.tasks],
        "callbacks": [",".join(t.callbacks) or None for t in spec.tasks],
    }


def _map_range(task: TaskSpec, max_map_length: int) -> tuple[int, int]:
    """Literal lists are expanded at once; what depends on results has a placeholder until then."""
    if task.expansion is not None and not task.expansion.refs:
        count = expansion_count(task.expansion, {}, max_map_length)
        if not isinstance(count, Refused) and count > 0:
            return 0, count - 1
    return UNMAPPED, UNMAPPED


def finish(work: Work, run: int, state: str, reason: str | None) -> bool:
    """running → ``state``; false when it is no longer running."""
    row = work.conn.execute(
        text(
            "UPDATE dag_run SET state = :state, reason = :reason, end_date = clock_timestamp() "
            "WHERE id = :run AND state = 'running' RETURNING dag_id, backfill_id"
        ),
        {"run": run, "state": state, "reason": plain.text(reason)},
    ).one_or_none()
    if row is None:
        return False
    if row.backfill_id is not None:
        work.conn.execute(
            text(
                "UPDATE backfill SET completed_at = now() WHERE id = :b AND completed_at IS NULL AND NOT EXISTS "
                "(SELECT 1 FROM dag_run WHERE backfill_id = :b AND state IN ('queued', 'running'))"
            ),
            {"b": row.backfill_id},
        )
    work.run_changed(run)
    work.dag_changed(row.dag_id)
    work.due()
    return True


def previous_success(work: Work, run: int) -> PreviousSuccess:
    """Of the same DAG, the newest one before it."""
    row = work.conn.execute(
        text(
            "SELECT p.logical_date, p.data_interval_start, p.data_interval_end, p.start_date, p.end_date FROM dag_run r, "
            "LATERAL (SELECT * FROM dag_run p WHERE p.dag_id = r.dag_id AND p.logical_date < r.logical_date AND p.state = 'success' "
            "ORDER BY p.logical_date DESC, p.id DESC LIMIT 1) p WHERE r.id = :run"
        ),
        {"run": run},
    ).one_or_none()
    return PreviousSuccess(*row) if row else PreviousSuccess()


def mark(work: Work, run: int, *, missed: Sequence[str] = (), stalled: bool | None = None) -> None:
    """Deadlines that have passed, and whether it holds a place among the active runs."""
    work.conn.execute(
        text("UPDATE dag_run SET missed = missed || CAST(:missed AS text[]), is_stalled = coalesce(:stalled, is_stalled) WHERE id = :run"),
        {"run": run, "missed": list(missed), "stalled": stalled},
    )
    work.run_changed(run)
    work.due()


def say(work: Work, run: int, reason: str) -> None:
    """Why a run that isn't over doesn't go on."""
    work.conn.execute(
        text("UPDATE dag_run SET reason = :reason WHERE id = :run AND reason IS DISTINCT FROM :reason"), {"run": run, "reason": reason}
    )
    work.run_changed(run)


@dataclass(frozen=True, slots=True)
class RunKey:
    id: int
    dag_id: str
    run_id: str
    state: str
    version: str


def existing(work: Work, dag_id: str, run_id: str, *, lock: bool = False) -> RunKey:
    """``NotFound`` names the newest runs there are."""
    row = work.conn.execute(
        text("SELECT id, dag_id, run_id, state, version FROM dag_run WHERE dag_id = :d AND run_id = :r" + (" FOR UPDATE" if lock else "")),
        {"d": dag_id, "r": run_id},
    ).one_or_none()
    if row is None:
        known = work.conn.execute(
            text("SELECT run_id FROM dag_run WHERE dag_id = :d ORDER BY logical_date DESC, id DESC LIMIT 50"), {"d": dag_id}
        ).scalars()
        raise NotFound(f"DAG {dag_id!r} has no run {run_id!r}{nearest(run_id, list(known))}")
    return RunKey(*row)


# Every step is a move of the table; nobody sees the ones between, they share a transaction.
_CANCEL_STEPS = [
    ("none", ("restarting",), ""),
    ("scheduled", ("up_for_retry", "up_for_reschedule"), ""),
    ("queued", ("scheduled",), ""),
    ("failed", ("queued", "deferred", "running"), ", end_date = now(), reason = :reason"),
    ("skipped", ("none",), ", end_date = now(), reason = :reason"),
]


def cancel(work: Work, run: RunKey, reason: str) -> bool:
    """End an unfinished run as failed; false when it had ended.  Its processes are stopped by their executor."""
    if run.state == "queued":
        work.conn.execute(text("UPDATE dag_run SET state = 'running', start_date = now() WHERE id = :id"), {"id": run.id})
    elif run.state != "running":
        return False
    stop(work, run.id, reason)
    due.put(work, [run.id])
    return True


def stop(work: Work, run: int, reason: str) -> None:
    """End a running run now: what runs or waits outside has failed, what has not started is skipped."""
    for to, states, also in _CANCEL_STEPS:
        rows = work.conn.execute(
            text(
                f"UPDATE task_instance SET state = '{to}'{also} WHERE run = :run AND state = ANY(:states) "
                "RETURNING run, task_id, map_index, try_number"
            ),
            {"run": run, "states": list(states), **({"reason": plain.text(reason)} if also else {})},
        ).all()
        if to == "failed":
            write_history(work, [TryKey(*r) for r in rows if r.try_number > 0])
    work.conn.execute(text("DELETE FROM trigger WHERE run = :run"), {"run": run})
    finish(work, run, "failed", reason)
