"""Which scheduled run is due next and what it covers: data intervals, catch-up, dates (SEMANTICS §3).  All instants are UTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dagbook.decide.ticks import midnight, next_tick, previous_tick
from dagbook.spec.models import DagSpec, Schedule

_MOMENT = timedelta(microseconds=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, order=True)
class DataInterval:
    """[start, end): the run's data.  Its scheduled run may start once ``due`` has come: ``end``, unless said otherwise."""

    start: datetime
    end: datetime
    run_after: datetime | None = field(default=None, compare=False)

    @property
    def due(self) -> datetime:
        return self.run_after or self.end


def intervals(spec: DagSpec, start: datetime) -> Iterator[DataInterval]:
    """Consecutive intervals that begin at ``start`` or later, the first not before ``start_date``; ``end_date`` is inclusive."""
    assert spec.schedule is not None
    assert spec.start_date is not None
    if spec.schedule.kind == "once":
        found = iter([DataInterval(spec.start_date, spec.start_date)])
    elif spec.schedule.has_ticks:
        start = max(start, spec.start_date)
        found = _grid(spec, spec.schedule, spec.start_date, start)
    else:
        return
    for interval in found:
        if spec.end_date is not None and interval.start > spec.end_date:
            return
        if interval.start >= start:
            yield interval


def _grid(spec: DagSpec, schedule: Schedule, anchor: datetime, start: datetime) -> Iterator[DataInterval]:
    tick = next_tick(schedule, spec.timezone, anchor, start - _MOMENT)
    while True:
        following = next_tick(schedule, spec.timezone, anchor, tick)
        yield _day_before(tick, zone_of(spec)) if schedule.align_day else DataInterval(tick, following)
        tick = following


def _day_before(tick: datetime, zone: str) -> DataInterval:
    """The calendar day that ended last; a day that the zone left out had no hours and counts for none."""
    day = tick.astimezone(ZoneInfo(zone)).date()
    end = midnight(day, zone)
    while (start := midnight(day - _DAY, zone)) >= end:
        day -= _DAY
    return DataInterval(start, end, tick)


def zone_of(spec: DagSpec) -> str:
    """Whose wall clock the schedule follows."""
    return (spec.schedule and spec.schedule.timezone) or spec.timezone


def next_interval(spec: DagSpec, last: DataInterval | None, now: datetime) -> DataInterval | None:
    """The interval of the next scheduled run after ``last``; without catch-up, never one older than the latest complete."""
    schedule = spec.schedule
    if schedule is None or spec.start_date is None or (last and schedule.kind == "once"):
        return None
    start = last.end if last else spec.start_date
    if schedule.kind == "continuous":
        return _from_then_to_now(spec, start, now)
    upcoming = next(intervals(spec, start), None)
    if spec.catchup or upcoming is None or upcoming.due > now or not schedule.has_ticks:
        return upcoming
    return max(upcoming, _latest_complete(spec, schedule, spec.start_date, now))


def _from_then_to_now(spec: DagSpec, start: datetime, now: datetime) -> DataInterval | None:
    """``@continuous``: all the time since the last run's.  Never empty, so that no two runs have the same logical date."""
    if spec.end_date is not None and start > spec.end_date:
        return None
    return DataInterval(start, max(now, start + _MOMENT))


def _latest_complete(spec: DagSpec, schedule: Schedule, anchor: datetime, now: datetime) -> DataInterval:
    """The newest interval that is due by ``now`` and starts by ``end_date``, found from its end, however many come before."""
    limit, zone = now + _MOMENT, zone_of(spec)
    if schedule.align_day:
        if spec.end_date is not None:
            last_day = spec.end_date.astimezone(ZoneInfo(zone)).date()
            limit = min(limit, midnight(last_day + 2 * _DAY, zone))
        return _day_before(previous_tick(schedule, spec.timezone, anchor, limit), zone)
    start = previous_tick(schedule, spec.timezone, anchor, previous_tick(schedule, spec.timezone, anchor, limit))
    if spec.end_date is not None and start > spec.end_date:
        start = previous_tick(schedule, spec.timezone, anchor, spec.end_date + _MOMENT)
    return DataInterval(start, next_tick(schedule, spec.timezone, anchor, start))


def backfill_intervals(spec: DagSpec, start: datetime, end: datetime, limit: int) -> list[DataInterval]:
    """Every interval whose logical date lies in [start, end], oldest first, at most ``limit``."""
    found: list[DataInterval] = []
    for interval in intervals(spec, start.astimezone(UTC)):
        if interval.start > end or len(found) >= limit:
            break
        found.append(interval)
    return found


def interval_at(spec: DagSpec, logical_date: datetime) -> DataInterval:
    """What a run by hand for ``logical_date`` covers: to the next tick of the schedule, or that instant alone."""
    schedule = spec.schedule
    if schedule is None or spec.start_date is None or not schedule.has_ticks:
        return DataInterval(logical_date, logical_date)
    try:
        if schedule.align_day:
            zone = zone_of(spec)
            return DataInterval(logical_date, midnight(logical_date.astimezone(ZoneInfo(zone)).date() + _DAY, zone))
        return DataInterval(logical_date, next_tick(schedule, spec.timezone, spec.start_date, logical_date))
    except (ValueError, OverflowError):
        return DataInterval(logical_date, logical_date)
