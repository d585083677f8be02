"""Deferred tasks: what they wait for, and their way back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.store import due, plain
from dagbook.store.reports import write_history
from dagbook.store.work import Work
from dagbook.wire.tasks import Deferred, TryKey

_ARGS = "run = :run AND task_id = :task_id AND map_index = :map_index"


def defer(work: Work, key: TryKey, deferred: Deferred) -> bool:
    """running → deferred; false when the try is stale."""
    where = {"run": key.run, "task_id": key.task_id, "map_index": key.map_index, "try": key.try_number}
    row = work.conn.execute(
        text(
            f"UPDATE task_instance SET state = 'deferred', next_method = :method, next_event = NULL, job_id = NULL "
            f"WHERE {_ARGS} AND state = 'running' AND try_number = :try RETURNING run"
        ),
        {**where, "method": deferred.method},
    ).one_or_none()
    if row is None:
        return False
    work.conn.execute(
        text(
            "INSERT INTO trigger (classpath, kwargs, run, task_id, map_index, try_number, timeout_at) VALUES (:classpath, "
            "CAST(:kwargs AS jsonb), :run, :task_id, :map_index, :try, clock_timestamp() + make_interval(secs => :timeout))"
        ),
        {**where, "classpath": deferred.trigger, "kwargs": plain.document(deferred.kwargs), "timeout": deferred.timeout},
    )
    work.deferred()
    work.run_changed(key.run)
    due.put(work, [key.run])
    return True


@dataclass(frozen=True, slots=True)
class TriggerRow:
    id: int
    classpath: str
    kwargs: dict[str, Any]
    timeout_at: datetime | None


def claim(work: Work, job: int, limit: int) -> list[TriggerRow]:
    """Take triggers that no living triggerer waits for."""
    rows = work.conn.execute(
        text(
            "UPDATE trigger SET job_id = :job WHERE id IN (SELECT id FROM trigger WHERE job_id IS NULL ORDER BY id "
            "LIMIT :limit FOR UPDATE SKIP LOCKED) RETURNING id, classpath, kwargs, timeout_at"
        ),
        {"job": job, "limit": limit},
    )
    return [TriggerRow(*r) for r in rows]


def held(work: Work, job: int) -> set[int]:
    """Triggers that are still ``job``'s; others were cancelled."""
    return set(work.conn.execute(text("SELECT id FROM trigger WHERE job_id = :job"), {"job": job}).scalars())


def fire(work: Work, trigger: int, job: int, event: Any) -> bool:
    """deferred → scheduled with ``event``; false when the trigger was not ``job``'s any more."""
    row = _take(work, trigger, job)
    if row is None:
        return False
    work.conn.execute(
        text(
            f"UPDATE task_instance SET state = 'scheduled', next_event = CAST(:event AS jsonb) WHERE {_ARGS} "
            "AND state = 'deferred' AND try_number = :try"
        ),
        {**row, "event": plain.document(event)},
    )
    return True


def fail(work: Work, trigger: int, job: int, reason: str) -> bool:
    """deferred → failed: its trigger timed out or broke."""
    row = _take(work, trigger, job)
    if row is None:
        return False
    work.conn.execute(
        text(
            f"UPDATE task_instance SET state = 'failed', reason = :reason, end_date = clock_timestamp(), next_method = NULL "
            f"WHERE {_ARGS} AND state = 'deferred' AND try_number = :try"
        ),
        {**row, "reason": plain.text(reason)},
    )
    write_history(work, [TryKey(row["run"], row["task_id"], row["map_index"], row["try"])])
    return True


def _take(work: Work, trigger: int, job: int) -> dict[str, Any] | None:
    row = work.conn.execute(
        text("DELETE FROM trigger WHERE id = :id AND job_id = :job RETURNING run, task_id, map_index, try_number"),
        {"id": trigger, "job": job},
    ).one_or_none()
    if row is None:
        return None
    work.run_changed(row.run)
    due.put(work, [row.run])
    return {"run": row.run, "task_id": row.task_id, "map_index": row.map_index, "try": row.try_number}
