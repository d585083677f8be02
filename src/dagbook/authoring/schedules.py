"""What an author may write as ``schedule``, turned into a ``Schedule``."""

from __future__ import annotations

from datetime import timedelta, tzinfo

from dagbook.authoring import zones
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


def parse(schedule: object) -> Schedule | None:
    """Raise ``ValueError`` with the expression and what is allowed."""
    if schedule is None or schedule in ("", "None"):
        return None
    if isinstance(schedule, timedelta):
        if schedule <= timedelta(0):
            raise ValueError(f"schedule {schedule} is not a positive time span")
        return Schedule("delta", f"every {schedule}", interval=schedule)
    if isinstance(schedule, CronInterval):
        return _cron_interval(schedule)
    if not isinstance(schedule, str):
        raise ValueError(f"schedule {schedule!r} is a {type(schedule).__name__}; give a cron, a preset, a timedelta or a CronInterval")
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
    if not isinstance(given.cron, str):
        raise ValueError(f"{given!r}: the first argument is a {type(given.cron).__name__}; give a cron expression or a preset")
    expression = _expression(given.cron)
    if given.align not in (None, "day"):
        raise ValueError(f"{given!r}: align={given.align!r} is not known; there is 'day', or None for the time from tick to tick")
    if given.align == "day" and cron.read(expression).ticks_a_day > 1:
        raise ValueError(f"{given!r} ticks more than once a day, so several runs would cover the same day; name one hour and one minute")
    zone = zones.given(given.timezone)
    if zone is not None and not zones.known(zone):
        raise ValueError(f"{given!r}: timezone {zone!r} is not known; give an IANA name such as 'Europe/Berlin'")
    return Schedule("cron", repr(given), cron=expression, align_day=given.align == "day", timezone=zone)
