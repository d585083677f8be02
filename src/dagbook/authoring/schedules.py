"""What an author may write as ``schedule``, turned into a ``Schedule``."""

from __future__ import annotations

from datetime import datetime, timedelta

from croniter import croniter

from dagbook.spec.models import Schedule

PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}


def parse(schedule: object) -> Schedule | None:
    """Raise ``ValueError`` with the expression and what is allowed."""
    if schedule is None or schedule in ("", "None"):
        return None
    if isinstance(schedule, timedelta):
        if schedule <= timedelta(0):
            raise ValueError(f"schedule {schedule} is not a positive time span")
        return Schedule("delta", f"every {schedule}", interval=schedule)
    if not isinstance(schedule, str):
        raise ValueError(f"schedule {schedule!r} is a {type(schedule).__name__}; give a cron, a preset or a timedelta")
    if schedule == "@once":
        return Schedule("once", schedule)
    cron = PRESETS.get(schedule, schedule)
    if cron.startswith("@"):
        raise ValueError(f"schedule {schedule!r} is no preset; there are: @once, {', '.join(PRESETS)}")
    if len(cron.split()) != 5 or not croniter.is_valid(cron):
        raise ValueError(f"schedule {schedule!r} is no 5-field cron expression (minute hour day month weekday)")
    _must_match_some_day(cron)
    return Schedule("cron", schedule, cron=cron)


def _must_match_some_day(cron: str) -> None:
    try:
        croniter(cron, datetime(2024, 1, 1), max_years_between_matches=9).get_next(datetime)
    except Exception:
        raise ValueError(f"schedule {cron!r} never matches any date") from None
