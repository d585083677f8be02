"""Ten years, minute by minute, in four zones: a clock is walked forward and the cron is looked at, nothing more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from dagbook.authoring.schedules import parse
from dagbook.spec.ticks import next_tick, previous_tick

FROM, TO = datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=15)
ZONES = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata"]
#: Not "every hour": each wall-clock time once a day.
FIXED = ["30 2 * * *", "0 0 * * *", "15,45 1-3 * * *", "0 1,2,3 * * 0", "20 */4 1 * 1", "59 23 28-31 * *", "0 0 29 2 *"]
EVERY_HOUR = ["30 * * * *", "*/20 * * * 6"]


@lru_cache(maxsize=1)
def _quarters(zone: str) -> list[tuple[datetime, datetime]]:
    """(instant, what the wall clock shows) for each quarter of an hour; offsets change at quarters only."""
    tz = ZoneInfo(zone)
    found = []
    at = FROM - timedelta(days=2)
    while at < TO + timedelta(days=2):
        found.append((at, at.astimezone(tz).replace(tzinfo=None)))
        at += STEP
    return found


def _numbers(field: str, first: int, last: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = ("*", "", "") if span == "*" else span.partition("-")
        numbers = range(first, last + 1) if low == "*" else range(int(low), int(high or low) + 1)
        found |= set(numbers[:: int(step or 1)])
    return found


class Cron:
    def __init__(self, text: str):
        minute, hour, day, month, weekday = text.split()
        self.minutes, self.hours, self.months = _numbers(minute, 0, 59), _numbers(hour, 0, 23), _numbers(month, 1, 12)
        self.days, self.weekdays = _numbers(day, 1, 31), {n % 7 for n in _numbers(weekday, 0, 7)}
        self.either = day != "*" and weekday != "*"

    def hour(self, wall: datetime) -> bool:
        """Does it tick at some minute of this hour?"""
        if wall.hour not in self.hours or wall.month not in self.months:
            return False
        day, weekday = wall.day in self.days, (wall.weekday() + 1) % 7 in self.weekdays
        return day or weekday if self.either else day and weekday

    def within(self, wall: datetime) -> list[datetime]:
        """Wall-clock times of the quarter that begins at ``wall``."""
        return [wall.replace(minute=m) for m in range(wall.minute, wall.minute + 15) if m in self.minutes] if self.hour(wall) else []


def walk(text: str, zone: str) -> list[datetime]:
    cron, every_hour = Cron(text), text in EVERY_HOUR
    ticks: list[datetime] = []
    latest = datetime.min
    for (_, before), (at, wall) in pairwise(_quarters(zone)):
        gap = wall - before - STEP
        if gap > timedelta(0) and not every_hour:
            # The clock has jumped ahead over these.
            for n in range(gap // STEP):
                ticks += [at + (w - (before + STEP)) for w in cron.within(before + STEP * (n + 1))]
        for w in cron.within(wall):
            # Where the clock was set back, a time that it has shown before doesn't count again.
            if every_hour or w > latest:
                ticks.append(at + (w - wall))
        latest = max(latest, wall + STEP - timedelta(minutes=1))
    return sorted({t for t in ticks if FROM <= t < TO})


@pytest.mark.parametrize("zone", ZONES)
def test_ticks_are_those_of_a_clock_that_is_walked_through_ten_years(zone):
    for text in FIXED + EVERY_HOUR:
        expected = walk(text, zone)
        schedule = parse(text)
        at, found = FROM - timedelta(minutes=1), []
        while (at := next_tick(schedule, zone, FROM, at)) < TO:
            found.append(at)
        assert found == expected, (text, zone, sorted(set(found) ^ set(expected))[:5])
        assert all(previous_tick(schedule, zone, FROM, b) == a for a, b in pairwise(expected)), (text, zone)
