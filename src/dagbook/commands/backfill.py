"""Run a DAG for past intervals; the scheduler carries it out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dagbook.commands.next_run import told_between
from dagbook.decide.backfill import AGAIN, Step, plan, refused
from dagbook.decide.calendar import backfill_intervals
from dagbook.errors import Conflict, Invalid
from dagbook.spec.models import DagSpec, DataInterval
from dagbook.spec.params import fill
from dagbook.states import RunType
from dagbook.store import backfills, runs, versions
from dagbook.store.backfills import BackfillRow
from dagbook.store.runs import NewRun
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.rest import BackfillRequest

#: One backfill makes at most this many runs.
LIMIT = 20_000


def preview(work: Work, cache: Versions, dag_id: str, request: BackfillRequest) -> list[Step]:
    """What ``create`` would do, interval by interval, in the order in which they would go."""
    version = versions.existing(work, dag_id).version
    return _plan(work, version, cache.spec(work, version), request)


def create(work: Work, cache: Versions, dag_id: str, request: BackfillRequest) -> int:
    """Queue a run for every interval whose logical date lies in the request's days; the backfill's id.

    Intervals that have a run are left alone, or run again where ``reprocess`` says so.  Of two requests at once the second
    sees the first one's runs.
    """
    versions.existing(work, dag_id)
    row = versions.dag_row(work, dag_id, lock=True)
    assert row is not None
    spec = cache.spec(work, row.version)
    planned = _plan(work, row.version, spec, request)
    steps = [(place, s) for place, s in enumerate(planned) if s.action != "skip"]
    params = fill(spec.dag_id, spec.params, request.conf)
    starts = [s.interval.start for s in planned]
    backfill = backfills.insert(
        work,
        dag_id,
        min(starts),
        max(starts),
        request.max_active_runs,
        request.reprocess,
        request.run_backwards,
        request.conf,
        len(steps),
    )
    new = [_run(dag_id, row.version, place, s.interval) for place, s in steps if s.action == "create"]
    runs.insert(work, new, request.conf, params, backfill)
    again = {s.run: place for place, s in steps if s.action == "rerun" and s.run is not None}
    backfills.take_over(work, backfill, again, row.version, request.conf, params)
    work.dag_changed(dag_id)
    return backfill


def _plan(work: Work, version: str, spec: DagSpec, request: BackfillRequest) -> list[Step]:
    intervals = _intervals(work, version, spec, request)
    if reason := refused(spec, backwards=request.run_backwards):
        raise Invalid(reason)
    fill(spec.dag_id, spec.params, request.conf)
    taken = backfills.taken(work, spec.dag_id, [i.start for i in intervals])
    return plan(intervals, taken, request.reprocess, backwards=request.run_backwards)


def _intervals(work: Work, version: str, spec: DagSpec, request: BackfillRequest) -> list[DataInterval]:
    """Oldest first; ``Invalid`` says why there are none."""
    if request.reprocess not in AGAIN:
        raise Invalid(f"reprocess={request.reprocess!r} is not one of {', '.join(AGAIN)}")
    if request.max_active_runs < 1:
        raise Invalid(f"max_active_runs={request.max_active_runs} must be at least 1")
    if request.end < request.start:
        raise Invalid(f"the backfill ends ({request.end}) before it starts ({request.start})")
    if spec.schedule is None:
        raise Invalid(f"DAG {spec.dag_id!r} has no schedule, so no intervals to run; give it one, such as --schedule @daily")
    first, last = _midnight(request.start, spec.timezone), _midnight(request.end + timedelta(days=1), spec.timezone)
    last -= timedelta(microseconds=1)
    if spec.has_own_timetable:
        intervals = told_between(work, version, spec.dag_id, first, last, LIMIT + 1)
    else:
        intervals = backfill_intervals(spec, first, last, LIMIT + 1)
    if not intervals:
        begins = f" from {spec.start_date:%Y-%m-%d}" if spec.start_date else ""
        raise Invalid(
            f"DAG {spec.dag_id!r} has no interval from {request.start} to {request.end}: its schedule is {spec.schedule.text!r}{begins}"
        )
    if len(intervals) > LIMIT:
        raise Invalid(f"more than {LIMIT} runs from {request.start} to {request.end}; split the backfill")
    return intervals


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(zone))


def _run(dag_id: str, version: str, place: int, interval: DataInterval) -> NewRun:
    run_id = f"backfill__{interval.start.isoformat()}"
    return NewRun(dag_id, run_id, version, RunType.BACKFILL, interval.start, interval, place)


def pause(work: Work, dag_id: str, backfill: int, is_paused: bool) -> None:
    """While paused none of its runs starts; those that have started go on."""
    backfills.pause(work, _open(work, dag_id, backfill), is_paused)


def cancel(work: Work, dag_id: str, backfill: int, who: str) -> None:
    """Its runs that wait never start; those that run are stopped."""
    row = _open(work, dag_id, backfill)
    reason = f"its backfill was cancelled by {who}" if who else "its backfill was cancelled"
    backfills.cancel(work, row, reason)
    for run in backfills.running(work, backfill):
        runs.cancel(work, run, reason)


def _open(work: Work, dag_id: str, backfill: int) -> BackfillRow:
    row = backfills.existing(work, dag_id, backfill, lock=True)
    if row.completed_at is not None:
        raise Conflict(f"backfill {backfill} of DAG {dag_id!r} has ended already: {'cancelled' if row.is_cancelled else 'completed'}")
    return row
