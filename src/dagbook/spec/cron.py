"""A 5-field cron expression, read: which days it names and at which minutes of them.  No clock, no time zones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from croniter import croniter

_DAY = timedelta(days=1)
#: The rarest day there is, a leap day on a given weekday, comes 40 years later where 2100 lies between.
_LONGEST = 41 * 366 * _DAY


@dataclass(frozen=True, slots=True)
class Cron:
    """``days`` and ``weekdays`` (Sunday is 0) are ``None`` where any will do; with both given, either is enough."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    days: frozenset[int] | None
    last_day: bool
    weekdays: frozenset[int] | None
    #: Weekday → which ones of the month: 1 to 5, or 6 for the last.
    places: Mapping[int, frozenset[int]]

    @property
    def every_hour(self) -> bool:
        return len(self.hours) == 24

    @property
    def ticks_a_day(self) -> int:
        return len(self.minutes) * len(self.hours)

    def on(self, day: date) -> bool:
        """Whether it ticks on ``day``: cron's rule is day of month OR day of week where both are given."""
        if day.month not in self.months:
            return False
        if self.days is None or self.weekdays is None:
            return (self.days is None or self._month_day(day)) and (self.weekdays is None or self._weekday(day))
        return self._month_day(day) or self._weekday(day)

    def _month_day(self, day: date) -> bool:
        return day.day in (self.days or ()) or (self.last_day and (day + _DAY).month != day.month)

    def _weekday(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        if weekday not in (self.weekdays or ()):
            return False
        wanted = self.places.get(weekday)
        last = (day + 7 * _DAY).month != day.month
        return wanted is None or (day.day + 6) // 7 in wanted or (last and 6 in wanted)

    def days_from(self, first: date, step: int = 1) -> Iterator[date]:
        """The days it ticks on, from ``first`` on (``step`` 1) or back (-1); ends where none comes for 41 years."""
        day = found = first
        while abs(day - found) < _LONGEST:
            if self.on(day):
                found = day
                yield day
            day += step * _DAY if day.month in self.months else _to_next_month(day, step)


def _to_next_month(day: date, step: int) -> timedelta:
    if step < 0:
        return -day.day * _DAY
    return (day.replace(day=28) + 4 * _DAY).replace(day=1) - day


@lru_cache(maxsize=1024)
def read(text: str) -> Cron:
    """Raise ``ValueError`` where ``text`` is no 5-field cron expression, or one that never ticks."""
    parts = text.split()
    if len(parts) != 5 or not croniter.is_valid(text) or _beyond_cron(parts):
        raise ValueError(f"schedule {text!r} is no 5-field cron expression (minute hour day month weekday)")
    (minutes, hours, days, months, weekdays), places = croniter.expand(text)
    cron = Cron(
        minutes=tuple(_numbers(minutes, range(60))),
        hours=tuple(_numbers(hours, range(24))),
        months=frozenset(_numbers(months, range(1, 13))),
        days=None if "*" in days else frozenset(d for d in days if d != "l"),
        last_day="l" in days,
        weekdays=None if "*" in weekdays else frozenset(weekdays),
        places={w: frozenset(6 if n == "l" else n for n in wanted) for w, wanted in places.items()},
    )
    if next(cron.days_from(date(2000, 1, 1)), None) is None:
        raise ValueError(f"schedule {text!r} never matches any date")
    return cron


def _beyond_cron(parts: list[str]) -> bool:
    """croniter also reads "R", another random value each time, and "15W", the workday nearest to the 15th."""
    return any(item[:1] in ("r", "R") for p in parts for item in p.split(",")) or "W" in parts[2].upper()


def _numbers(values: list[int | str], everything: range) -> list[int]:
    return list(everything) if "*" in values else sorted({int(v) for v in values})
