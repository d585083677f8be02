"""Given cases of other engines' failures with time: each with the right behaviour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from dagbook import DAG, EmptyOperator
from dagbook.authoring.freeze import freeze
from dagbook.authoring.schedules import parse
from dagbook.decide.calendar import intervals, next_interval
from dagbook.errors import InvalidDag
from dagbook.spec.models import DagSource, DagSpec, DataInterval
from dagbook.spec.ticks import next_tick, previous_tick


def utc(*parts) -> datetime:
    return datetime(*parts, tzinfo=UTC)


def dag(schedule, start, zone="UTC", **options) -> DagSpec:
    return DagSpec("d", (), parse(schedule), start.astimezone(UTC), timezone=zone, **options)


def ticks_between(schedule, zone, start, end) -> list[datetime]:
    found, at = [], start - timedelta(microseconds=1)
    while (at := next_tick(parse(schedule), zone, start, at)) < end:
        found.append(at)
    return found


def local(zone, *parts) -> datetime:
    return datetime(*parts, tzinfo=ZoneInfo(zone)).astimezone(UTC)


def test_a_daily_time_in_the_gap_fires_once_each_day():
    """TT-01"""
    zone, schedule = "America/New_York", parse("30 2 * * *")
    spec = dag("30 2 * * *", local(zone, 2026, 3, 7), zone, catchup=True)
    starts = [i.start for i in islice(intervals(spec, spec.start_date), 4)]
    assert starts == [utc(2026, 3, 7, 7, 30), utc(2026, 3, 8, 7, 30), utc(2026, 3, 9, 6, 30), utc(2026, 3, 10, 6, 30)]
    for near in (utc(2026, 3, 8, 6, 59), utc(2026, 3, 8, 7, 1)):
        assert next_tick(schedule, zone, near, near) == utc(2026, 3, 8, 7, 30)
    assert all(previous_tick(schedule, zone, b, b) == a for a, b in pairwise(starts))


@pytest.mark.parametrize(
    ("cron", "zone", "day", "count"),
    [
        ("*/5 * * * *", "Europe/Berlin", (2026, 10, 25), 300),
        ("*/5 * * * *", "Europe/Berlin", (2026, 3, 29), 276),
        ("30 * * * *", "America/New_York", (2026, 11, 1), 25),
        ("30 * * * *", "America/New_York", (2026, 3, 8), 23),
    ],
)
def test_sub_hourly_ticks_are_real_time_through_a_change(cron, zone, day, count):
    """TT-03"""
    start = local(zone, *day)
    end = local(zone, day[0], day[1], day[2] + 1)
    found = ticks_between(cron, zone, start, end)
    assert len(found) == count
    assert len({b - a for a, b in pairwise(found)}) == 1


def test_a_schedule_is_the_same_at_every_minute_of_the_transition():
    """TT-05"""
    zone = "America/Los_Angeles"
    spec = dag("20 */4 * * *", local(zone, 2026, 2, 1), zone)
    for minute in range(50):
        now = utc(2026, 3, 8, 9, 50) + timedelta(minutes=minute)
        latest = next_interval(spec, None, now)
        assert latest.end == utc(2026, 3, 8, 8, 20)
        assert next_interval(spec, latest, now).end == utc(2026, 3, 8, 11, 20)
        hourly = dag("@hourly", utc(2026, 2, 1))
        assert next_interval(hourly, None, now).end == now.replace(minute=0)
    assert len(ticks_between("20 */4 * * *", zone, local(zone, 2026, 3, 8), local(zone, 2026, 3, 9))) == 6


def test_a_leap_day_cron_finds_its_years():
    """TT-07"""
    leap = parse("0 0 29 2 *")
    assert next_tick(leap, "UTC", utc(2024, 3, 1), utc(2024, 3, 1)) == utc(2028, 2, 29)
    assert next_tick(leap, "UTC", utc(2024, 3, 1), utc(2096, 3, 1)) == utc(2104, 2, 29)
    assert previous_tick(leap, "UTC", utc(2024, 3, 1), utc(2026, 6, 1)) == utc(2024, 2, 29)


def test_a_cron_that_never_matches_is_refused_with_its_text():
    """TT-07"""
    with pytest.raises(InvalidDag, match=r"0 0 30 2 \*"):
        freeze(DAG("never", schedule="0 0 30 2 *", start_date=utc(2026, 1, 1)), DagSource(""))


def test_unpausing_without_catch_up_gives_one_run_on_the_grid():
    """TT-09"""
    spec = dag(timedelta(days=1), utc(2026, 1, 1, 6))
    now = utc(2026, 1, 10, 9, 17)
    first = next_interval(spec, None, now)
    assert first == DataInterval(utc(2026, 1, 9, 6), utc(2026, 1, 10, 6))
    assert next_interval(spec, first, now).due == utc(2026, 1, 11, 6)
    later = utc(2026, 1, 13, 9, 17)
    assert next_interval(spec, first, later) == DataInterval(utc(2026, 1, 12, 6), utc(2026, 1, 13, 6))
    all_of_them = dag(timedelta(days=1), utc(2026, 1, 1, 6), catchup=True)
    assert next_interval(all_of_them, None, now).start == utc(2026, 1, 1, 6)


@pytest.mark.parametrize(
    ("cron", "start", "end", "days"),
    [
        ("0 0 1 * 1", utc(2026, 9, 1), utc(2026, 10, 1), [1, 7, 14, 21, 28]),
        ("0 0 13 * 5", utc(2026, 10, 1), utc(2026, 11, 1), [2, 9, 13, 16, 23, 30]),
    ],
)
def test_a_day_of_the_month_or_of_the_week(cron, start, end, days):
    """TT-11"""
    assert [t.day for t in ticks_between(cron, "UTC", start, end)] == days


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"default_args": {"start_date": datetime(2026, 1, 1)}}, utc(2026, 1, 1, 1)),
        ({"start_date": datetime(2026, 1, 1)}, utc(2026, 1, 1, 1)),
        ({"start_date": utc(2026, 1, 1)}, utc(2026, 1, 1, 10)),
        ({"start_date": datetime(2026, 1, 1), "end_date": utc(2026, 2, 1)}, utc(2026, 1, 1, 1)),
        ({"start_date": utc(2026, 1, 1), "timezone": "Asia/Tokyo"}, utc(2026, 1, 1, 1)),
    ],
)
def test_naive_dates_are_read_in_the_default_zone_and_mix_with_aware_ones(options, first):
    """TT-15: an aware date brings its own zone; all is stored in UTC."""
    dag = DAG("d", schedule="0 10 * * *", **options)
    EmptyOperator(task_id="a", dag=dag)
    spec = freeze(dag, DagSource(""), "Asia/Tokyo")
    assert spec.start_date.utcoffset() == timedelta(0)
    assert next(intervals(spec, spec.start_date)).start == first
    again = freeze(dag, DagSource(""), "UTC")
    assert next_interval(again, None, utc(2026, 3, 1)) is not None
