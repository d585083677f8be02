"""In words: why the next scheduled run is due when it is, or why none is."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from dagbook.decide.calendar import Told, begin, following, intervals, next_interval, zone_of
from dagbook.spec import cron
from dagbook.spec.models import DagSpec, DataInterval

#: Nobody reads a larger number more closely, and years of minutes would take long to count.
_COUNTED = 1000


def describe_next(spec: DagSpec, last: DataInterval | None, now: datetime, told: Told | None = None) -> str:
    """What ``next_interval`` decides, for people; dates are in the DAG's timezone.  ``told`` is ``None`` before a timetable's answer."""
    if spec.schedule is None:
        return "no schedule"
    if spec.schedule.kind == "custom" and told is None:
        return f"{spec.schedule.text} is asked for its next run"
    try:
        interval = next_interval(spec, last, now, told)
        if interval is None:
            return _why_none(spec, last, now)
        if spec.schedule.kind in ("once", "continuous"):
            return _without_ticks(spec, begin(spec), now)
        return "; ".join(filter(None, [_covered(spec, interval, now), _clock_change(spec, interval), _others(spec, last, interval, now)]))
    except ValueError as e:
        return str(e)


def _why_none(spec: DagSpec, last: DataInterval | None, now: datetime) -> str:
    assert spec.schedule is not None
    if spec.schedule.kind == "once" and last:
        return "@once: its one run has been made"
    if spec.schedule.kind == "custom":
        return f"{spec.schedule.text} names no further run"
    if spec.end_date is None:
        return f"schedule {spec.schedule.text} names no times"
    if spec.end_date < now:
        return f"end_date {_shown(spec.end_date, spec.timezone)} has passed"
    return f"no further interval starts by end_date {_shown(spec.end_date, spec.timezone)}"


def _without_ticks(spec: DagSpec, start_date: datetime, now: datetime) -> str:
    assert spec.schedule is not None
    if spec.schedule.kind == "once":
        return f"@once: one run, at start_date {_shown(start_date, spec.timezone)}"
    if start_date > now:
        return f"{spec.schedule.text}: from start_date {_shown(start_date, spec.timezone)} on"
    return f"{spec.schedule.text}: a new run as soon as the last has ended"


def _covered(spec: DagSpec, interval: DataInterval, now: datetime) -> str:
    assert spec.schedule is not None
    how = f"{spec.schedule.cron}, {zone_of(spec)}" if spec.schedule.cron else spec.schedule.text
    if spec.schedule.align_day:
        day = interval.start.astimezone(ZoneInfo(zone_of(spec)))
        tense = "is" if interval.due > now else "was"
        return f"the day {day:%Y-%m-%d} {tense} the last to end before {_shown(interval.due, spec.timezone)} ({how})"
    if interval.start == interval.end:
        return f"{spec.schedule.text} names it" if spec.schedule.kind == "custom" else f"a tick of {how}"
    tense = "ends" if interval.due > now else "ended"
    return f"interval {_shown(interval.start, spec.timezone)} – {_shown(interval.end, spec.timezone)} {tense} then ({how})"


def _clock_change(spec: DagSpec, interval: DataInterval) -> str:
    """Where the tick is not simply what the cron says: daylight saving."""
    if spec.schedule is None or spec.schedule.cron is None:
        return ""
    expression, zone = cron.read(spec.schedule.cron), ZoneInfo(zone_of(spec))
    if expression.every_hour:
        return ""
    local = interval.due.astimezone(zone)
    if not (expression.on(local.date()) and local.hour in expression.hours and local.minute in expression.minutes):
        gap = _offset(local) - _offset((interval.due - timedelta(days=1)).astimezone(zone))
        return f"{local - gap:%H:%M} does not exist that day in {zone.key}, so it moves on to {local:%H:%M}"
    if _twice(local):
        return f"{local:%H:%M} comes twice that day in {zone.key}; the first one counts"
    return ""


def _others(spec: DagSpec, last: DataInterval | None, interval: DataInterval, now: datetime) -> str:
    """The intervals that are passed over, or that wait behind this one."""
    assert spec.schedule is not None
    if not spec.schedule.has_ticks or (last is None and spec.start_date is None):
        return ""
    coming = intervals(spec, following(spec, last))
    if spec.catchup:
        # The first of them is ``interval`` itself.
        waiting = _count(takewhile(lambda i: i.due <= now, islice(coming, 1, None)), "later")
        return f"catchup is on: {waiting} complete and waiting" if waiting else ""
    skipped = _count(takewhile(lambda i: i.start < interval.start, coming), "older")
    return f"catchup is off: {skipped} skipped" if skipped else ""


def _count(found: Iterable[DataInterval], which: str) -> str:
    number = sum(1 for _ in islice(found, _COUNTED + 1))
    if number > _COUNTED:
        return f"more than {_COUNTED} {which} intervals are"
    return "" if number == 0 else f"1 {which} interval is" if number == 1 else f"{number} {which} intervals are"


def _shown(moment: datetime, zone: str) -> str:
    """To the minute where that is all there is; with the offset's name where the wall clock shows the time twice."""
    local = moment.astimezone(ZoneInfo(zone))
    exact = "%Y-%m-%d %H:%M" if local.second == local.microsecond == 0 else "%Y-%m-%d %H:%M:%S"
    return f"{local:{exact}}" + (f" {local:%Z}" if _twice(local) else "")


def _twice(local: datetime) -> bool:
    return _offset(local.replace(fold=0)) > _offset(local.replace(fold=1))


def _offset(local: datetime) -> timedelta:
    return local.utcoffset() or timedelta(0)
