"""Which scheduled run is due next and what it covers: data intervals, catch-up, dates (SEMANTICS §3).  All instants are UTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dagbook.spec.models import DagSpec, DataInterval, Schedule
from dagbook.spec.ticks import midnight, next_tick, previous_tick

_MOMENT = timedelta(microseconds=1)
_DAY = timedelta(days=1)
#: What is known ahead of a timetable of its own is filled up when less than this is left.
_STOCK = 4
#: Where the schedule of a DAG without a ``start_date`` begins.
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def intervals(spec: DagSpec, start: datetime) -> Iterator[DataInterval]:
    """Consecutive intervals that begin at ``start`` or later, the first not before ``start_date``; ``end_date`` is inclusive."""
    assert spec.schedule is not None
    first = begin(spec)
    if spec.schedule.kind == "once":
        found = iter([DataInterval(first, first)])
    elif spec.schedule.has_ticks:
        start = max(start, first)
        found = _grid(spec, spec.schedule, first, start)
    else:
        return
    for interval in found:
        if spec.end_date is not None and interval.start > spec.end_date:
            return
        if interval.start >= start:
            yield interval


def begin(spec: DagSpec) -> datetime:
    """The ``start_date``; without one, a time before all that anybody runs."""
    return spec.start_date or EPOCH


def _grid(spec: DagSpec, schedule: Schedule, anchor: datetime, start: datetime) -> Iterator[DataInterval]:
    tick = next_tick(schedule, spec.timezone, anchor, start - _MOMENT)
    while True:
        following = next_tick(schedule, spec.timezone, anchor, tick)
        if schedule.span is not None:
            yield DataInterval(tick - schedule.span, tick)
        else:
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


@dataclass(frozen=True, slots=True)
class Told:
    """What an author's own timetable has said, at a time, comes next."""

    intervals: tuple[DataInterval, ...]
    at: datetime

    def after(self, last: DataInterval | None) -> list[DataInterval]:
        return [i for i in self.intervals if last is None or i.start > last.start]

    def is_short(self, last: DataInterval | None, now: datetime) -> bool:
        """Whether it is time to ask again."""
        return sum(i.due > now for i in self.after(last)) < _STOCK and not self._at_end

    @property
    def _at_end(self) -> bool:
        """It named nothing that was still to come, so it knows of nothing more."""
        return not any(i.due > self.at for i in self.intervals)


def next_interval(spec: DagSpec, last: DataInterval | None, now: datetime, told: Told | None = None) -> DataInterval | None:
    """The interval of the next scheduled run after ``last``; without catch-up, never one older than the latest complete.

    ``told`` counts where the DAG has a timetable of its own.
    """
    schedule = spec.schedule
    if schedule is None or (last and schedule.kind == "once"):
        return None
    if schedule.kind == "custom":
        return _next_told(spec, told, last, now) if told else None
    start = following(spec, last)
    if schedule.kind == "continuous":
        return _from_then_to_now(spec, start, now)
    upcoming = next(intervals(spec, start), None)
    if spec.catchup or upcoming is None or upcoming.due > now or not schedule.has_ticks:
        return upcoming
    return max(upcoming, _latest_complete(spec, schedule, begin(spec), now))


def following(spec: DagSpec, last: DataInterval | None) -> datetime:
    """The earliest start of an interval after ``last``."""
    if last is None:
        return begin(spec)
    return last.start + _MOMENT if spec.schedule and spec.schedule.span is not None else last.end


def _next_told(spec: DagSpec, told: Told, last: DataInterval | None, now: datetime) -> DataInterval | None:
    left = told.after(last)
    if spec.catchup or not left or left[0].due > now:
        return next(iter(left), None)
    if left[-1].due <= now and left[-1].due > told.at:
        return None  # all of it has passed since: by now the timetable may name a newer one
    return [i for i in left if i.due <= now][-1]


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
    if schedule.span is not None:
        if spec.end_date is not None:
            limit = min(limit, spec.end_date + schedule.span + _MOMENT)
        tick = previous_tick(schedule, spec.timezone, anchor, limit)
        return DataInterval(tick - schedule.span, tick)
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
    if schedule is None or not schedule.has_ticks:
        return DataInterval(logical_date, logical_date)
    if schedule.span is not None:
        return DataInterval(logical_date, logical_date + schedule.span)
    try:
        if schedule.align_day:
            zone = zone_of(spec)
            return DataInterval(logical_date, midnight(logical_date.astimezone(ZoneInfo(zone)).date() + _DAY, zone))
        return DataInterval(logical_date, next_tick(schedule, spec.timezone, begin(spec), logical_date))
    except (ValueError, OverflowError):
        return DataInterval(logical_date, logical_date)
