"""When scheduled runs are due: ticks, data intervals, catch-up (SEMANTICS §3).  All instants are UTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter

from dagbook.spec.models import DagSpec, Schedule


@dataclass(frozen=True, slots=True, order=True)
class DataInterval:
    """[start, end): the run's data; it may start once ``end`` has come."""

    start: datetime
    end: datetime


def next_tick(schedule: Schedule, zone: str, anchor: datetime, after: datetime) -> datetime:
    """The first tick strictly after ``after``; a timedelta's grid is anchored at ``anchor``."""
    if schedule.interval is not None:
        steps = (after - anchor) // schedule.interval + 1
        return anchor + max(steps, 0) * schedule.interval
    assert schedule.cron is not None
    tick = _frequent if schedule.cron.split()[1] == "*" else _fixed_hour
    return tick(schedule.cron, ZoneInfo(zone), after)


def _fixed_hour(cron: str, zone: ZoneInfo, after: datetime) -> datetime:
    """By the wall clock: a tick in a spring gap moves on by the gap, one in an overlap fires first time only."""
    wall = after.astimezone(zone).replace(tzinfo=None) - timedelta(hours=3)
    ticks = croniter(cron, wall, max_years_between_matches=9)
    while True:
        naive: datetime = ticks.get_next(datetime)
        instant = naive.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if instant > after:
            return instant


def _frequent(cron: str, zone: ZoneInfo, after: datetime) -> datetime:
    """At each real hour: the wall clock is followed piecewise, between changes of the UTC offset."""
    at = after
    for _ in range(64):
        offset = _offset(zone, at)
        naive: datetime = croniter(
            cron, (at + offset).replace(tzinfo=None), max_years_between_matches=9
        ).get_next(datetime)
        instant = naive.replace(tzinfo=UTC) - offset
        if _offset(zone, instant) == offset:
            return instant
        change = _change(zone, at, instant)
        # The change's own minute may tick, so look again from just before it, under the new offset.
        offset = _offset(zone, change)
        naive = croniter(
            cron, (change + offset).replace(tzinfo=None) - timedelta(seconds=1), max_years_between_matches=9
        ).get_next(datetime)
        instant = naive.replace(tzinfo=UTC) - offset
        if _offset(zone, instant) == offset:
            return instant
        at = change
    raise ValueError(f"no tick of {cron!r} found after {after}")


def _offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def _change(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """The first instant, to the minute, with another offset than ``low``; ``high`` has one."""
    before = _offset(zone, low)
    step = low.replace(second=0, microsecond=0)
    while high - step > timedelta(minutes=1):
        middle = step + timedelta(minutes=((high - step) // timedelta(minutes=1)) // 2)
        if _offset(zone, middle) == before:
            step = middle
        else:
            high = middle
    return high


def first_tick(spec: DagSpec) -> datetime:
    """The start of the first interval: the first tick at or after ``start_date``."""
    assert spec.schedule is not None
    assert spec.start_date is not None
    if spec.schedule.kind != "cron":
        return spec.start_date
    just_before = spec.start_date - timedelta(microseconds=1)
    return next_tick(spec.schedule, spec.timezone, spec.start_date, just_before)


def intervals(spec: DagSpec, start: datetime) -> Iterator[DataInterval]:
    """Consecutive intervals whose start is a tick ≥ ``start``; ends with ``end_date`` (inclusive)."""
    assert spec.schedule is not None
    assert spec.start_date is not None
    if spec.schedule.kind == "once":
        yield DataInterval(spec.start_date, spec.start_date)
        return
    tick = first_tick(spec)
    if start > tick:
        tick = next_tick(spec.schedule, spec.timezone, spec.start_date, start - timedelta(microseconds=1))
    while spec.end_date is None or tick <= spec.end_date:
        following = next_tick(spec.schedule, spec.timezone, spec.start_date, tick)
        yield DataInterval(tick, following)
        tick = following


def next_interval(spec: DagSpec, last: DataInterval | None, now: datetime) -> DataInterval | None:
    """The interval of the next scheduled run after ``last``; without catch-up, never one older than the latest complete."""
    if spec.schedule is None or spec.start_date is None or (last and spec.schedule.kind == "once"):
        return None
    start = last.end if last else spec.start_date
    upcoming = next(intervals(spec, start), None)
    if spec.catchup or upcoming is None or spec.schedule.kind == "once":
        return upcoming
    return _latest_complete(spec, upcoming, now)


def _latest_complete(spec: DagSpec, upcoming: DataInterval, now: datetime) -> DataInterval:
    """Skip to the newest interval that has ended by ``now``; jump near it first, so years of minutes cost little."""
    if upcoming.end > now:
        return upcoming
    length = upcoming.end - upcoming.start
    for spans in (3, 40, 400, 0):
        near = max(upcoming.start, now - spans * length) if spans else upcoming.start
        newest = None
        for interval in intervals(spec, near):
            if interval.end > now:
                break
            newest = interval
        if newest is not None:
            return newest
    return upcoming


def backfill_intervals(spec: DagSpec, start: datetime, end: datetime, limit: int) -> list[DataInterval]:
    """Every interval whose logical date lies in [start, end], oldest first, at most ``limit``."""
    found: list[DataInterval] = []
    for interval in intervals(spec, start.astimezone(UTC)):
        if interval.start > end or len(found) >= limit:
            break
        if interval.start >= start:
            found.append(interval)
    return found


def interval_at(spec: DagSpec, logical_date: datetime) -> DataInterval:
    """What a run by hand for ``logical_date`` covers: to the next tick of the schedule, or that instant alone."""
    if spec.schedule is None or spec.start_date is None or spec.schedule.kind == "once":
        return DataInterval(logical_date, logical_date)
    try:
        return DataInterval(logical_date, next_tick(spec.schedule, spec.timezone, spec.start_date, logical_date))
    except ValueError:
        return DataInterval(logical_date, logical_date)
