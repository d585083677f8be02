"""Start a run by hand; cancel one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dagbook.commands.next_run import told_by_hand
from dagbook.decide.calendar import interval_at
from dagbook.errors import Conflict, Invalid
from dagbook.spec.models import DataInterval
from dagbook.spec.params import fill
from dagbook.states import RunType
from dagbook.store import runs, versions
from dagbook.store.runs import NewRun, RunKey
from dagbook.store.versions import Versions
from dagbook.store.work import Work


def trigger(
    work: Work,
    cache: Versions,
    dag_id: str,
    now: datetime,
    *,
    logical_date: datetime | None = None,
    conf: dict[str, Any] | None = None,
    run_id: str | None = None,
    version: str | None = None,
) -> RunKey:
    """Queue a run of the DAG's newest ``version`` (or the one named) for ``logical_date``, default now.

    ``conf`` fills the DAG's params; unknown names and values that fail their schema are ``Invalid``.  A taken run id is a ``Conflict``.
    """
    row = versions.existing(work, dag_id)
    wanted = version or row.version
    spec = cache.spec(work, wanted)
    if spec.dag_id != dag_id:
        raise Invalid(f"version {wanted!r} belongs to DAG {spec.dag_id!r}, not to {dag_id!r}")
    at = (logical_date or now).astimezone(UTC)
    name = f"manual__{at.isoformat()}" if run_id is None else run_id
    if not name.strip() or not name.isprintable() or len(name) > 250:
        raise Invalid(f"run_id must have 1 to 250 characters that can be printed, not {name[:60]!r}")
    if spec.has_own_timetable:
        interval = told_by_hand(work, wanted, dag_id, at)
    else:
        interval = interval_at(spec, at) if logical_date else DataInterval(at, at)
    params = fill(spec.dag_id, spec.params, conf or {})
    new = NewRun(dag_id, name, wanted, RunType.MANUAL, at, interval)
    if not runs.insert(work, [new], conf, params):
        if run_id is not None:
            raise Conflict(f"DAG {dag_id!r} has a run {run_id!r} already; choose another run_id")
        # The same date again: a run of its own, told apart by when it was asked for.
        name = f"{name}__{now.isoformat()}"
        if not runs.insert(work, [NewRun(dag_id, name, wanted, RunType.MANUAL, at, interval)], conf, params):
            raise Conflict(f"DAG {dag_id!r} has a run {name!r} already")
    return runs.existing(work, dag_id, name)


def cancel(work: Work, dag_id: str, run_id: str, who: str) -> RunKey:
    """End a run now: what runs is stopped, what waits never starts."""
    run = runs.existing(work, dag_id, run_id, lock=True)
    if not runs.cancel(work, run, f"cancelled by {who}" if who else "cancelled"):
        raise Conflict(f"run {run_id!r} of DAG {dag_id!r} has ended already: {run.state}")
    return run
