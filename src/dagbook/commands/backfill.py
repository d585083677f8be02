"""Run a DAG for past intervals; the scheduler carries it out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dagbook.commands.trigger import params_of
from dagbook.decide.calendar import DataInterval, backfill_intervals
from dagbook.errors import Invalid
from dagbook.spec.models import DagSpec
from dagbook.states import RunType
from dagbook.store import backfills, runs, versions
from dagbook.store.runs import NewRun
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.rest import BackfillRequest

#: One backfill makes at most this many runs.
LIMIT = 20_000
_AGAIN = {"none": (), "failed": ("failed",), "completed": ("failed", "success")}


def create(work: Work, cache: Versions, dag_id: str, request: BackfillRequest) -> int:
    """Queue a run for every interval whose logical date lies in the request's days; the backfill's id.

    Intervals that have a run are left alone, or run again where ``reprocess`` says so.
    """
    row = versions.existing(work, dag_id)
    spec = cache.spec(work, row.version)
    intervals = plan(spec, request)
    taken = backfills.taken(work, dag_id, [i.start for i in intervals])
    again = [taken[i.start][0] for i in intervals if i.start in taken and taken[i.start][1] in _AGAIN[request.reprocess]]
    new = [i for i in intervals if i.start not in taken]
    params = params_of(spec, request.conf)
    backfill = backfills.insert(
        work,
        dag_id,
        intervals[0].start,
        intervals[-1].start,
        request.max_active_runs,
        request.reprocess,
        request.run_backwards,
        request.conf,
        len(new) + len(again),
    )
    ordered = list(reversed(new)) if request.run_backwards else new
    runs.insert(work, [_run(dag_id, row.version, n, i) for n, i in enumerate(ordered)], request.conf, params, backfill)
    backfills.take_over(work, backfill, again, row.version)
    work.dag_changed(dag_id)
    return backfill


def plan(spec: DagSpec, request: BackfillRequest) -> list[DataInterval]:
    """The intervals, oldest first; ``Invalid`` says why there are none."""
    if request.reprocess not in _AGAIN:
        raise Invalid(f"reprocess={request.reprocess!r} is not one of none, failed, completed")
    if request.max_active_runs < 1:
        raise Invalid(f"max_active_runs={request.max_active_runs} must be at least 1")
    if request.end < request.start:
        raise Invalid(f"the backfill ends ({request.end}) before it starts ({request.start})")
    if spec.schedule is None or spec.start_date is None:
        raise Invalid(f"DAG {spec.dag_id!r} has no schedule, so no intervals to run; give it one, such as --schedule @daily")
    first, last = _midnight(request.start, spec.timezone), _midnight(request.end + timedelta(days=1), spec.timezone)
    intervals = backfill_intervals(spec, first, last - timedelta(microseconds=1), LIMIT + 1)
    if not intervals:
        raise Invalid(
            f"DAG {spec.dag_id!r} has no interval from {request.start} to {request.end}: "
            f"its schedule is {spec.schedule.text!r} from {spec.start_date:%Y-%m-%d}"
        )
    if len(intervals) > LIMIT:
        raise Invalid(f"more than {LIMIT} runs from {request.start} to {request.end}; split the backfill")
    return intervals


def _midnight(day: date, zone: str) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(zone))


def _run(dag_id: str, version: str, place: int, interval: DataInterval) -> NewRun:
    run_id = f"backfill__{interval.start.isoformat()}"
    return NewRun(dag_id, run_id, version, RunType.BACKFILL, interval.start, interval, place)
