"""The ticks of a schedule on the real time line, forward and back (SEMANTICS §3).  All instants are UTC.

What a cron names is a wall-clock time.  Where the wall clock jumps ahead, one in the gap moves on by the gap.  Where it
falls back, one that comes twice ticks at its first occurrence.  A cron whose hour field leaves out no hour is about
real hours instead: it ticks at each minute at which the wall clock matches, so twice and not at all there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from dagbook.spec import cron
from dagbook.spec.models import Schedule

_DAY = timedelta(days=1)


def next_tick(schedule: Schedule, zone: str, anchor: datetime, after: datetime) -> datetime:
    """The first tick strictly after ``after``; a timedelta's grid begins at ``anchor``.

    ``ValueError`` where there is none before the calendar's end.
    """
    try:
        if schedule.interval is not None:
            steps = (after - anchor) // schedule.interval + 1
            return anchor + max(steps, 0) * schedule.interval
        return _cron_after(_expression(schedule), schedule.timezone or zone, after)
    except (OverflowError, StopIteration):
        raise ValueError(f"schedule {schedule.text!r} has no tick after {after:%Y-%m-%d %H:%M} UTC") from None


def previous_tick(schedule: Schedule, zone: str, anchor: datetime, before: datetime) -> datetime:
    """The last tick strictly before ``before``; ``ValueError`` where there is none."""
    try:
        if schedule.interval is None:
            return _cron_before(_expression(schedule), schedule.timezone or zone, before)
        if before <= anchor:
            raise OverflowError
        return anchor + (-((anchor - before) // schedule.interval) - 1) * schedule.interval
    except (OverflowError, StopIteration):
        raise ValueError(f"schedule {schedule.text!r} has no tick before {before:%Y-%m-%d %H:%M} UTC") from None


def midnight(day: date, zone: str) -> datetime:
    """When ``day`` begins; the end of the gap where its midnight lies in one."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)


def _expression(schedule: Schedule) -> str:
    if schedule.cron is None:
        raise ValueError(f"schedule {schedule.text!r} has no ticks")
    return schedule.cron


def _cron_after(text: str, zone: str, after: datetime) -> datetime:
    # A day's ticks may have moved into the next day, and a clock set back at midnight returns to the day before.
    # So the search begins a day early, and the day after the first hit is looked at too.
    days = cron.read(text).days_from(after.astimezone(ZoneInfo(zone)).date() - _DAY)
    while True:
        day = next(days)
        if found := _first(_ticks_of(text, zone, day), after):
            return min(found + _first(_ticks_of(text, zone, day + _DAY), after))


def _cron_before(text: str, zone: str, before: datetime) -> datetime:
    days = cron.read(text).days_from(before.astimezone(ZoneInfo(zone)).date() + _DAY, -1)
    while True:
        day = next(days)
        if found := _last(_ticks_of(text, zone, day), before):
            return max(found + _last(_ticks_of(text, zone, day - _DAY), before))


def _first(ticks: tuple[datetime, ...], after: datetime) -> tuple[datetime, ...]:
    i = bisect_right(ticks, after)
    return ticks[i : i + 1]


def _last(ticks: tuple[datetime, ...], before: datetime) -> tuple[datetime, ...]:
    i = bisect_left(ticks, before)
    return ticks[max(i - 1, 0) : i]


@lru_cache(maxsize=256)
def _ticks_of(text: str, zone: str, day: date) -> tuple[datetime, ...]:
    """The instants, in order, that the wall-clock times of ``day`` stand for."""
    expression = cron.read(text)
    if not expression.on(day):
        return ()
    tz = ZoneInfo(zone)
    found: set[datetime] = set()
    for hour in expression.hours:
        for minute in expression.minutes:
            wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=tz)
            found.update(_instants(wall, wall.replace(fold=1), expression.every_hour))
    return tuple(sorted(found))


def _instants(first: datetime, second: datetime, every_hour: bool) -> list[datetime]:
    """Python reads a time that comes twice by its ``fold``, and one in a gap with the offset before it (fold 0) or after."""
    before, after = first.utcoffset(), second.utcoffset()
    assert before is not None
    assert after is not None
    if before < after and every_hour:
        return []
    if before > after and every_hour:
        return [first.astimezone(UTC), second.astimezone(UTC)]
    return [first.astimezone(UTC)]
