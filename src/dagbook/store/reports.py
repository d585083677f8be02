"""What task processes say, written guarded by (state, try): a stale word changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.spec.models import RETURN_VALUE
from dagbook.states import TaskState
from dagbook.store import due, plain
from dagbook.store.work import Work
from dagbook.wire.tasks import Claim, RunContext, TryKey, Value

_KEYS = """unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:map_indexes AS int[]), CAST(:tries AS int[])"""
_MATCH = "ti.run = w.run AND ti.task_id = w.task_id AND ti.map_index = w.map_index"


def _key_arrays(keys: Sequence[TryKey]) -> dict[str, Any]:
    return {
        "runs": [k.run for k in keys],
        "task_ids": [k.task_id for k in keys],
        "map_indexes": [k.map_index for k in keys],
        "tries": [k.try_number for k in keys],
    }


# A second claim by the same process is the first one's echo; any other is refused.
_CLAIM = text(f"""
    UPDATE task_instance ti
    SET state = 'running', try_number = w.try, hostname = w.hostname, pid = w.pid, end_date = NULL, reason = NULL,
        start_date = CASE WHEN ti.state = 'running' OR ti.next_method IS NOT NULL THEN ti.start_date
                          ELSE clock_timestamp() END
    FROM {_KEYS}, CAST(:hostnames AS text[]), CAST(:pids AS int[])) AS w(run, task_id, map_index, try, hostname, pid), dag_run r
    WHERE {_MATCH} AND r.id = ti.run AND (
        (ti.state = 'queued' AND ti.try_number = w.try - CASE WHEN ti.next_method IS NULL THEN 1 ELSE 0 END)
        OR (ti.state = 'running' AND ti.try_number = w.try AND ti.pid = w.pid AND ti.hostname = w.hostname))
    RETURNING ti.run, ti.task_id, ti.map_index, ti.try_number, ti.max_tries, ti.next_method, ti.next_event, ti.start_date, r.dag_id,
              r.run_id, r.run_type, r.logical_date, r.data_interval_start, r.data_interval_end, r.params, r.conf
""")

# A new try starts with nothing of the ones before.
_FORGET = text(f"DELETE FROM xcom ti USING {_KEYS}) AS w(run, task_id, map_index, try) WHERE {_MATCH}")


@dataclass(frozen=True, slots=True)
class Granted:
    context: RunContext
    method: str | None
    event: Any
    started_at: datetime


def claim(work: Work, claims: Sequence[tuple[TryKey, Claim]]) -> dict[TryKey, Granted]:
    """queued → running for each; those left out of the answer are not the current try."""
    if not claims:
        return {}
    tries = {(k.run, k.task_id, k.map_index): k for k, _ in claims}
    rows = work.conn.execute(
        _CLAIM,
        {
            **_key_arrays([k for k, _ in claims]),
            "hostnames": [plain.text(c.hostname) for _, c in claims],
            "pids": [c.pid for _, c in claims],
        },
    )
    granted, again = {}, []
    for r in rows:
        work.run_changed(r.run)
        context = RunContext(
            r.dag_id,
            r.run_id,
            r.run_type,
            r.logical_date,
            r.data_interval_start,
            r.data_interval_end,
            r.params,
            r.conf,
            r.max_tries,
        )
        key = tries[r.run, r.task_id, r.map_index]
        granted[key] = Granted(context, r.next_method, r.next_event, r.start_date)
        if r.try_number > 1 and r.next_method is None:
            again.append(key)
    if again:
        work.conn.execute(_FORGET, _key_arrays(again))
    return granted


@dataclass(frozen=True, slots=True)
class Ending:
    """How a try ended.  ``not_before`` with up_for_retry; ``result`` with success."""

    key: TryKey
    to: TaskState
    reason: str | None = None
    not_before: datetime | None = None
    result: Value | None = None
    label: str | None = None
    untaken: Sequence[str] | None = None


_END = text(f"""
    UPDATE task_instance ti
    SET state = w.goal, reason = w.reason, not_before = w.not_before, label = coalesce(w.label, ti.label),
        end_date = clock_timestamp(), next_method = NULL, next_event = NULL,
        untaken = CASE WHEN w.untaken IS NOT NULL THEN string_to_array(w.untaken, '\n') END
    FROM {_KEYS}, CAST(:goals AS text[]), CAST(:reasons AS text[]), CAST(:not_befores AS timestamptz[]), CAST(:labels AS text[]),
                CAST(:untakens AS text[]))
         AS w(run, task_id, map_index, try, goal, reason, not_before, label, untaken)
    WHERE {_MATCH} AND ti.state = 'running' AND ti.try_number = w.try
    RETURNING ti.run, ti.task_id, ti.map_index
""")

_ALREADY = text(f"""
    SELECT ti.run, ti.task_id, ti.map_index
    FROM task_instance ti JOIN {_KEYS}, CAST(:goals AS text[])) AS w(run, task_id, map_index, try, goal)
      ON {_MATCH} AND ti.try_number = w.try AND ti.state = w.goal
""")

# The author's callback for how it ended is owed from the same moment.
_HISTORY = text(f"""
    WITH ended AS (
        SELECT ti.* FROM task_instance ti JOIN {_KEYS}) AS w(run, task_id, map_index, try) ON {_MATCH}
    ), owed AS (
        INSERT INTO callback (run, task_id, map_index, try_number, kind, reason)
        SELECT run, task_id, map_index, try_number, kind, reason
        FROM (SELECT *, CASE state WHEN 'success' THEN 'success' WHEN 'failed' THEN 'failure' WHEN 'up_for_retry' THEN 'retry'
                                   WHEN 'skipped' THEN 'skipped' END AS kind FROM ended WHERE callbacks IS NOT NULL) e
        WHERE kind = ANY(callbacks)
    )
    INSERT INTO task_instance_history (run, task_id, map_index, try_number, state, reason, queued_at, start_date,
                                       end_date, hostname, pid)
    SELECT run, task_id, map_index, try_number, CASE state WHEN 'up_for_retry' THEN 'failed' ELSE state END,
           reason, queued_at, start_date, end_date, hostname, pid
    FROM ended
    ON CONFLICT (run, task_id, map_index, try_number) DO UPDATE SET state = excluded.state, reason = excluded.reason,
        end_date = excluded.end_date
""")


def write_history(work: Work, keys: Sequence[TryKey]) -> None:
    """Keep the tries that have just ended, as they stand in ``task_instance``."""
    if keys:
        work.conn.execute(_HISTORY, _key_arrays(keys))


def end(work: Work, endings: Sequence[Ending]) -> set[TryKey]:
    """running → how each ended, with its result and history; what is left out of the answer was stale."""
    if not endings:
        return set()
    ordered = sorted(endings, key=lambda e: (e.key.run, e.key.task_id, e.key.map_index))
    arrays = _key_arrays([e.key for e in ordered])
    goals = [e.to.value for e in ordered]
    keys = {(e.key.run, e.key.task_id, e.key.map_index): e.key for e in ordered}
    moved = {
        keys[r.run, r.task_id, r.map_index]
        for r in work.conn.execute(
            _END,
            {
                **arrays,
                "goals": goals,
                "reasons": [plain.text(e.reason) for e in ordered],
                "not_befores": [e.not_before for e in ordered],
                "labels": [plain.text(e.label, 200) for e in ordered],
                "untakens": [None if e.untaken is None else "\n".join(e.untaken) for e in ordered],
            },
        )
    }
    if moved:
        put_values(work, [(e.key, RETURN_VALUE, e.result) for e in ordered if e.result is not None and e.key in moved])
        write_history(work, [e.key for e in ordered if e.key in moved])
        _mark_due(work, [e for e in ordered if e.key in moved])
    if len(moved) < len(ordered):
        # A report that is repeated because its answer was lost has been taken already.
        echoes = work.conn.execute(_ALREADY, {**arrays, "goals": goals})
        moved |= {keys[r.run, r.task_id, r.map_index] for r in echoes}
    return moved


def _mark_due(work: Work, endings: Sequence[Ending]) -> None:
    runs = sorted({e.key.run for e in endings})
    due.put(work, runs)
    for e in endings:
        if e.not_before is not None:
            due.put(work, [e.key.run], e.not_before)
    for run in runs:
        work.run_changed(run)


_PUT_VALUES = text(f"""
    INSERT INTO xcom (run, task_id, map_index, key, codec, value, length, preview, lengths)
    SELECT w.run, w.task_id, w.map_index, w.key, w.codec, w.value, w.length, CAST(w.preview AS jsonb), CAST(w.lengths AS jsonb)
    FROM {_KEYS}, CAST(:keys AS text[]), CAST(:codecs AS text[]), CAST(:values AS bytea[]), CAST(:lengths AS int[]),
                CAST(:previews AS text[]), CAST(:lengths_in AS text[]))
         AS w(run, task_id, map_index, try, key, codec, value, length, preview, lengths)
    ON CONFLICT (run, task_id, map_index, key) DO UPDATE SET codec = excluded.codec, value = excluded.value,
        length = excluded.length, lengths = excluded.lengths, preview = excluded.preview, created_at = now()
""")


def put_values(work: Work, values: Sequence[tuple[TryKey, str, Value]]) -> None:
    if values:
        work.conn.execute(
            _PUT_VALUES,
            {
                **_key_arrays([k for k, _, _ in values]),
                "keys": [plain.text(name) for _, name, _ in values],
                "codecs": [v.codec for _, _, v in values],
                "values": [v.data for _, _, v in values],
                "lengths": [v.length for _, _, v in values],
                "previews": [plain.document(v.preview) for _, _, v in values],
                "lengths_in": [plain.document(v.lengths) if v.lengths else None for _, _, v in values],
            },
        )


def is_current(work: Work, key: TryKey) -> bool:
    """Held until this transaction ends."""
    return (
        work.conn.execute(
            text(
                "SELECT 1 FROM task_instance WHERE run = :run AND task_id = :t AND map_index = :m AND try_number = :n "
                "AND state = 'running' FOR SHARE"
            ),
            {"run": key.run, "t": key.task_id, "m": key.map_index, "n": key.try_number},
        ).one_or_none()
        is not None
    )


def values(work: Work, run: int, task_id: str, key: str, map_indexes: Sequence[int] | None) -> list[tuple[int, Value]]:
    """Values that exist, by map index; ``None`` asks for all."""
    rows = work.conn.execute(
        text(
            "SELECT map_index, codec, value, length, preview FROM xcom WHERE run = :run AND task_id = :t AND key = :k "
            "AND (CAST(:m AS int[]) IS NULL OR map_index = ANY(:m)) ORDER BY map_index"
        ),
        {"run": run, "t": task_id, "k": key, "m": None if map_indexes is None else list(map_indexes)},
    )
    return [(r.map_index, Value(r.codec, bytes(r.value), r.length, r.preview)) for r in rows]


def indexes(work: Work, run: int, task_id: str, key: str) -> list[int]:
    return list(
        work.conn.execute(
            text("SELECT map_index FROM xcom WHERE run = :run AND task_id = :t AND key = :k ORDER BY map_index"),
            {"run": run, "t": task_id, "k": key},
        ).scalars()
    )


def unqueue(work: Work, key: TryKey) -> bool:
    """queued → scheduled: the hand-over failed, nobody has claimed it."""
    row = work.conn.execute(
        text(
            "UPDATE task_instance SET state = 'scheduled', job_id = NULL WHERE run = :run AND task_id = :t AND map_index = :m "
            "AND state = 'queued' AND try_number = :n - CASE WHEN next_method IS NULL THEN 1 ELSE 0 END RETURNING run"
        ),
        {"run": key.run, "t": key.task_id, "m": key.map_index, "n": key.try_number},
    ).one_or_none()
    if row is not None:
        work.run_changed(key.run)
        due.put(work, [key.run])
    return row is not None


def refuse(work: Work, key: TryKey, reason: str) -> bool:
    """queued → failed: it can never start."""
    row = work.conn.execute(
        text(
            "UPDATE task_instance SET state = 'failed', reason = :reason, try_number = :n, start_date = clock_timestamp(), "
            "end_date = clock_timestamp() WHERE run = :run AND task_id = :t AND map_index = :m AND state = 'queued' RETURNING run"
        ),
        {"run": key.run, "t": key.task_id, "m": key.map_index, "n": key.try_number, "reason": plain.text(reason)},
    ).one_or_none()
    if row is not None:
        write_history(work, [key])
        work.run_changed(key.run)
        due.put(work, [key.run])
    return row is not None


def stopped(work: Work, keys: Sequence[TryKey]) -> None:
    """restarting → none: the process of a cleared try has ended, whatever it said last."""
    if not keys:
        return
    rows = work.conn.execute(
        text(f"""
        UPDATE task_instance ti SET state = 'none', job_id = NULL, reason = NULL, next_method = NULL, next_event = NULL
        FROM {_KEYS}) AS w(run, task_id, map_index, try) WHERE {_MATCH} AND ti.state = 'restarting' AND ti.try_number = w.try
        RETURNING ti.run
    """),
        _key_arrays(keys),
    ).scalars()
    runs = sorted(set(rows))
    due.put(work, runs)
    for run in runs:
        work.run_changed(run)


def reschedule(work: Work, key: TryKey, at: datetime) -> bool:
    """running → up_for_reschedule: the same try goes on, from the start of its function, at ``at``."""
    row = work.conn.execute(
        text(
            "UPDATE task_instance SET state = 'up_for_reschedule', not_before = :at, next_method = 'execute', next_event = NULL, "
            "job_id = NULL WHERE run = :run AND task_id = :t AND map_index = :m AND state = 'running' AND try_number = :n RETURNING run"
        ),
        {"run": key.run, "t": key.task_id, "m": key.map_index, "n": key.try_number, "at": at},
    ).one_or_none()
    if row is not None:
        work.run_changed(key.run)
        due.put(work, [key.run], at)
        work.due()
    return row is not None


@dataclass(frozen=True, slots=True)
class TryFacts:
    """What the retry decision needs to know."""

    version: str
    max_tries: int


def facts(work: Work, keys: Sequence[TryKey]) -> dict[TryKey, TryFacts]:
    """By try; a key that is not in the database any more is left out."""
    if not keys:
        return {}
    rows = work.conn.execute(
        text(
            f"SELECT ti.run, ti.task_id, ti.map_index, w.try, r.version, ti.max_tries FROM task_instance ti "
            f"JOIN {_KEYS}) AS w(run, task_id, map_index, try) ON {_MATCH} JOIN dag_run r ON r.id = ti.run"
        ),
        _key_arrays(keys),
    )
    return {TryKey(r.run, r.task_id, r.map_index, r[3]): TryFacts(r.version, r.max_tries) for r in rows}
