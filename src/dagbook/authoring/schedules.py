"""What an author may write as ``schedule``, turned into a ``Schedule``."""

from __future__ import annotations

from datetime import timedelta, tzinfo

from dagbook.authoring import zones
from dagbook.authoring.timetables import DatasetOrTime, Timetable
from dagbook.spec import cron
from dagbook.spec.models import Schedule

PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class CronInterval:
    """A cron schedule that says more than its expression.

    ``align="day"``: each run covers the calendar day that ended last, so ``CronInterval("0 6 * * *", align="day")`` starts at
    06:00 with all of yesterday; without it, a run covers the time from tick to tick.  ``timezone``: the zone whose wall clock
    the expression is read by; without it, the DAG's.
    """

    def __init__(self, cron: str, *, align: str | None = None, timezone: str | tzinfo | None = None):
        self.cron, self.align, self.timezone = cron, align, timezone

    def __repr__(self) -> str:
        more = f", align={self.align!r}" if self.align else ""
        more += f", timezone={zones.given(self.timezone)!r}" if self.timezone else ""
        return f"CronInterval({self.cron!r}{more})"


class CronTriggerTimetable:
    """A run at each tick, which is its logical date; it covers ``interval`` before the tick, by default nothing."""

    def __init__(self, cron: str, *, timezone: str | tzinfo | None = None, interval: timedelta = timedelta(0)):
        self.cron, self.timezone, self.interval = cron, timezone, interval

    def __repr__(self) -> str:
        more = f", timezone={zones.given(self.timezone)!r}" if self.timezone else ""
        more += f", interval={self.interval!r}" if self.interval else ""
        return f"CronTriggerTimetable({self.cron!r}{more})"


def parse(schedule: object) -> Schedule | None:
    """Raise ``ValueError`` with the expression and what is allowed."""
    if isinstance(schedule, DatasetOrTime):
        return parse(schedule.timetable)
    if isinstance(schedule, Timetable):
        schedule.validate()
        return Schedule("custom", schedule.summary)
    if schedule is None or schedule in ("", "None"):
        return None
    if isinstance(schedule, timedelta):
        if schedule <= timedelta(0):
            raise ValueError(f"schedule {schedule} is not a positive time span")
        return Schedule("delta", f"every {schedule}", interval=schedule)
    if isinstance(schedule, CronInterval | CronTriggerTimetable):
        return _cron_interval(schedule) if isinstance(schedule, CronInterval) else _cron_trigger(schedule)
    if isinstance(schedule, type) and issubclass(schedule, Timetable):
        raise ValueError(f"schedule is the class {schedule.__name__}; give an instance: {schedule.__name__}()")
    if not isinstance(schedule, str):
        raise ValueError(f"schedule {schedule!r} is a {type(schedule).__name__}; give a cron, a preset, a timedelta or a timetable")
    if schedule == "@once":
        return Schedule("once", schedule)
    if schedule == "@continuous":
        return Schedule("continuous", schedule)
    return Schedule("cron", schedule, cron=_expression(schedule))


def _expression(text: str) -> str:
    expression = PRESETS.get(text, text)
    if expression.startswith("@"):
        raise ValueError(f"schedule {text!r} is no preset; there are: @once, @continuous, {', '.join(PRESETS)}")
    cron.read(expression)
    return expression


def _cron_interval(given: CronInterval) -> Schedule:
    expression, zone = _cron_and_zone(given)
    if given.align not in (None, "day"):
        raise ValueError(f"{given!r}: align={given.align!r} is not known; there is 'day', or None for the time from tick to tick")
    if given.align == "day" and cron.read(expression).ticks_a_day > 1:
        raise ValueError(f"{given!r} ticks more than once a day, so several runs would cover the same day; name one hour and one minute")
    return Schedule("cron", repr(given), cron=expression, align_day=given.align == "day", timezone=zone)


def _cron_trigger(given: CronTriggerTimetable) -> Schedule:
    expression, zone = _cron_and_zone(given)
    if not isinstance(given.interval, timedelta) or given.interval < timedelta(0):
        raise ValueError(f"{given!r}: interval={given.interval!r} is no time span of zero or more; give a timedelta")
    return Schedule("cron", repr(given), cron=expression, timezone=zone, span=given.interval)


def _cron_and_zone(given: CronInterval | CronTriggerTimetable) -> tuple[str, str | None]:
    if not isinstance(given.cron, str):
        raise ValueError(f"{given!r}: the first argument is a {type(given.cron).__name__}; give a cron expression or a preset")
    zone = zones.given(given.timezone)
    if zone is not None and not zones.known(zone):
        raise ValueError(f"{given!r}: timezone {zone!r} is not known; give an IANA name such as 'Europe/Berlin'")
    return _expression(given.cron), zone
