"""When scheduled runs are due, daylight saving included."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagbook.authoring.schedules import CronTriggerTimetable, parse
from dagbook.authoring.timetables import EventsTimetable
from dagbook.decide.calendar import Told, backfill_intervals, interval_at, intervals, next_interval
from dagbook.spec.models import DagSpec, DataInterval


def dag(schedule, start, zone="UTC", **options) -> DagSpec:
    return DagSpec("d", (), parse(schedule), start.astimezone(UTC), timezone=zone, **options)


def utc(*parts) -> datetime:
    return datetime(*parts, tzinfo=UTC)


def starts(spec: DagSpec, count: int, after: datetime | None = None) -> list[str]:
    return [f"{i.start:%m-%dT%H:%M}" for i in islice(intervals(spec, after or spec.start_date), count)]


@pytest.mark.parametrize(
    ("zone", "schedule", "start", "expected"),
    [
        ("UTC", "@daily", utc(2025, 1, 1), ["01-01T00:00", "01-02T00:00"]),
        ("UTC", "@daily", utc(2025, 1, 1, 12), ["01-02T00:00", "01-03T00:00"]),
        # Berlin: 30 March 2025 has no 02:30, 26 October has it twice.
        ("Europe/Berlin", "30 2 * * *", utc(2025, 3, 28, 12), ["03-29T01:30", "03-30T01:30", "03-31T00:30"]),
        ("Europe/Berlin", "30 2 * * *", utc(2025, 10, 25, 12), ["10-26T00:30", "10-27T01:30"]),
        ("Europe/Berlin", "@daily", utc(2025, 3, 29, 12), ["03-29T23:00", "03-30T22:00"]),
        # An hourly schedule follows real hours through both changes.
        ("Europe/Berlin", "0 * * * *", utc(2025, 3, 30), ["03-30T00:00", "03-30T01:00", "03-30T02:00"]),
        ("America/New_York", "0 * * * *", utc(2025, 11, 2, 4), ["11-02T04:00", "11-02T05:00", "11-02T06:00", "11-02T07:00"]),
        ("UTC", timedelta(minutes=90), utc(2025, 1, 1), ["01-01T00:00", "01-01T01:30", "01-01T03:00"]),
    ],
)
def test_intervals_start_at_the_schedules_ticks(zone, schedule, start, expected):
    assert starts(dag(schedule, start, zone), len(expected)) == expected


def test_catch_up_starts_at_the_first_interval_and_goes_on_after_the_last_run():
    spec = dag("@daily", utc(2025, 1, 1), catchup=True)
    first = next_interval(spec, None, utc(2025, 6, 1))
    assert first == DataInterval(utc(2025, 1, 1), utc(2025, 1, 2))
    assert next_interval(spec, first, utc(2025, 6, 1)) == DataInterval(utc(2025, 1, 2), utc(2025, 1, 3))


def test_without_catch_up_only_the_latest_complete_interval_is_due():
    spec = dag("@daily", utc(2015, 1, 1))
    assert next_interval(spec, None, utc(2025, 6, 1, 9)) == DataInterval(utc(2025, 5, 31), utc(2025, 6, 1))


def test_without_catch_up_years_of_minutes_are_skipped():
    spec = dag("* * * * *", utc(2005, 1, 1))
    assert next_interval(spec, None, utc(2025, 6, 1, 9, 30, 20)).end == utc(2025, 6, 1, 9, 30)


def test_nothing_is_due_after_the_end_date():
    spec = dag("@daily", utc(2025, 1, 1), end_date=utc(2025, 1, 2), catchup=True)
    assert starts(spec, 5) == ["01-01T00:00", "01-02T00:00"]


def test_once_means_once():
    spec = dag("@once", utc(2025, 1, 1))
    first = next_interval(spec, None, utc(2025, 6, 1))
    assert first is not None
    assert next_interval(spec, first, utc(2026, 1, 1)) is None


def test_a_backfill_takes_the_days_from_first_to_last():
    found = backfill_intervals(dag("@daily", utc(2025, 1, 1)), utc(2025, 2, 1), utc(2025, 2, 3, 23), 100)
    assert [f"{i.start:%d}" for i in found] == ["01", "02", "03"]


def test_a_run_by_hand_covers_the_interval_from_its_date():
    assert interval_at(dag("@daily", utc(2025, 1, 1)), utc(2025, 3, 1)).end == utc(2025, 3, 2)
    assert interval_at(DagSpec("d", ()), utc(2025, 3, 1)).end == utc(2025, 3, 1)


ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Havana"])
CRONS = st.sampled_from(["*/7 * * * *", "30 * * * *", "0 0 * * *", "30 2 * * *", "0 1,2,3 * * 0", "15 */6 * * *", "0 0 1 * *"])


@given(CRONS, ZONES, st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)))
def test_intervals_follow_each_other_without_gap_or_overlap(cron, zone, start):
    spec = dag(cron, start.replace(tzinfo=UTC), zone)
    found = list(islice(intervals(spec, spec.start_date), 30))
    assert all(i.start < i.end for i in found)
    assert all(a.end == b.start for a, b in pairwise(found))
    assert found[0].start >= spec.start_date


def test_a_trigger_timetable_runs_at_its_ticks_and_covers_nothing():
    spec = dag(CronTriggerTimetable("0 6 * * *"), utc(2025, 1, 1), catchup=True)
    first = next_interval(spec, None, utc(2025, 6, 1))
    assert first == DataInterval(utc(2025, 1, 1, 6), utc(2025, 1, 1, 6))
    assert next_interval(spec, first, utc(2025, 6, 1)) == DataInterval(utc(2025, 1, 2, 6), utc(2025, 1, 2, 6))


def test_a_trigger_timetable_with_an_interval_covers_what_is_before_the_tick():
    spec = dag(CronTriggerTimetable("0 6 * * *", interval=timedelta(days=1)), utc(2025, 1, 1))
    assert next_interval(spec, None, utc(2025, 6, 1, 12)) == DataInterval(utc(2025, 5, 31, 6), utc(2025, 6, 1, 6))
    assert interval_at(spec, utc(2025, 3, 1)) == DataInterval(utc(2025, 3, 1), utc(2025, 3, 2))


def test_without_a_start_date_the_latest_complete_interval_comes_first():
    spec = DagSpec("d", (), parse("@daily"))
    assert next_interval(spec, None, utc(2025, 6, 1, 12)) == DataInterval(utc(2025, 5, 31), utc(2025, 6, 1))
    assert next_interval(DagSpec("d", (), parse(timedelta(hours=6))), None, utc(2025, 6, 1, 7)).end == utc(2025, 6, 1, 6)


EVENTS = tuple(DataInterval(at, at) for at in (utc(2025, 1, day) for day in range(1, 6)))


@pytest.mark.parametrize(
    ("catchup", "last", "now", "asked", "expected"),
    [
        (True, None, utc(2025, 1, 3), utc(2024, 12, 1), 0),
        (True, 0, utc(2025, 1, 3), utc(2024, 12, 1), 1),
        (True, 4, utc(2025, 1, 9), utc(2024, 12, 1), None),
        # Without catch-up, never older than the latest that is due.
        (False, None, utc(2025, 1, 3), utc(2024, 12, 1), 2),
        (False, 2, utc(2025, 1, 3), utc(2024, 12, 1), 3),
        # All of them have passed: a newer one may exist, so the timetable is asked first; once asked, the last one it knows counts.
        (False, None, utc(2025, 1, 9), utc(2024, 12, 1), None),
        (False, None, utc(2025, 1, 9), utc(2025, 1, 8), 4),
    ],
)
def test_what_comes_next_of_what_a_timetable_of_its_own_has_said(catchup, last, now, asked, expected):
    spec = dag(EventsTimetable([i.start for i in EVENTS]), utc(2024, 1, 1), catchup=catchup)
    found = next_interval(spec, None if last is None else EVENTS[last], now, Told(EVENTS, asked))
    assert found == (None if expected is None else EVENTS[expected])


def test_a_timetable_is_asked_again_when_little_is_left_but_not_at_its_end():
    assert Told(EVENTS, utc(2024, 12, 1)).is_short(EVENTS[1], utc(2025, 1, 2))
    assert not Told(EVENTS, utc(2024, 12, 1)).is_short(EVENTS[0], utc(2025, 1, 1))
    assert not Told(EVENTS, utc(2025, 2, 1)).is_short(EVENTS[4], utc(2025, 2, 1))
