"""Authors' own timetables, and schedules by time or by news."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from engines import until

from dagbook.commands import backfill, datasets, pause
from dagbook.errors import Invalid
from dagbook.queries import dags, runs
from dagbook.wire.rest import BackfillRequest

WORKDAYS = """
    class Workdays(Timetable):
        '''Each workday, once it is over.'''

        summary = "workdays"

        def _workday(self, day):
            while day.weekday() >= 5:
                day += timedelta(days=1)
            return day

        def next_dagrun_info(self, *, last_automated_data_interval, restriction):
            from datetime import UTC
            if last_automated_data_interval:
                start = last_automated_data_interval.start + timedelta(days=1)
            else:
                start = restriction.earliest
            if not restriction.catchup:
                start = max(start, datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1))
            start = self._workday(start)
            return DagRunInfo.interval(start, start + timedelta(days=1))

        def infer_manual_data_interval(self, *, run_after):
            start = run_after.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
            return DataInterval(start, start + timedelta(days=1))

"""


def unpause(engine, dag_id):
    engine.call(pause.pause, engine.opened.versions, dag_id, False, datetime.now(UTC))
    engine.processor.ask_timetables()


def scheduled(engine, dag_id, count):
    return until(lambda: (r := engine.call(runs.newest, dag_id, 50)) and len(r) >= count and all(x.end_date for x in r) and r)


def test_an_authors_own_timetable_makes_its_runs(engine):
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=9)
    days = [d for n in range(9) if (d := start + timedelta(days=n)).weekday() < 5]
    engine.write(
        "workdays.py",
        WORKDAYS
        + f"""
    with DAG('workdays', schedule=Workdays(), start_date=datetime({start.year}, {start.month}, {start.day}), catchup=True):
        EmptyOperator('a')
    """,
    )
    assert engine.call(dags.one, "workdays").schedule == "workdays"
    unpause(engine, "workdays")
    found = scheduled(engine, "workdays", len(days))
    assert sorted(r.logical_date for r in found) == days
    detail = engine.call(dags.detail, engine.opened.versions, "workdays")
    assert detail.dag.next_run > datetime.now(UTC)
    assert "(workdays)" in detail.next_run_reason


def test_without_catchup_only_the_newest_is_made(engine):
    engine.write(
        "lazy.py",
        """
    class Minutes(Timetable):
        def next_dagrun_info(self, *, last_automated_data_interval, restriction):
            last = last_automated_data_interval
            return DagRunInfo.exact((last.start if last else restriction.earliest) + timedelta(hours=1))
    with DAG('lazy', schedule=Minutes(), start_date=datetime.now() - timedelta(hours=5, minutes=30)):
        EmptyOperator('a')
    """,
    )
    unpause(engine, "lazy")
    found = scheduled(engine, "lazy", 1)
    assert len(found) == 1
    assert datetime.now(UTC) - found[0].logical_date < timedelta(hours=1)


def test_a_backfill_and_a_run_by_hand_ask_the_timetable(engine):
    engine.write(
        "asked.py",
        WORKDAYS + "    with DAG('asked', schedule=Workdays(), start_date=datetime(2025, 1, 1)):\n"
        "        @task\n        def covers(a, b): return [a, b]\n        covers('{{ data_interval_start | ds }}', '{{ data_interval_end | ds }}')\n",
    )
    request = BackfillRequest(date(2025, 3, 6), date(2025, 3, 11))
    steps = engine.call(backfill.preview, engine.opened.versions, "asked", request)
    assert [s.interval.start.day for s in steps] == [6, 7, 10, 11]
    detail = engine.run("asked", logical_date=datetime(2025, 3, 4, 15, tzinfo=UTC))
    assert engine.result(detail, "covers") == ["2025-03-03", "2025-03-04"]


def test_a_timetable_that_fails_says_so_on_its_dag_and_no_other_notices(engine):
    engine.write(
        "fails.py",
        """
    class Broken(Timetable):
        def next_dagrun_info(self, *, last_automated_data_interval, restriction):
            return 1 / 0
    with DAG('fails', schedule=Broken(), start_date=datetime(2025, 1, 1)):
        EmptyOperator('a')
    class Naive(Timetable):
        def next_dagrun_info(self, *, last_automated_data_interval, restriction):
            return DagRunInfo.exact(datetime(2025, 1, 1))
    with DAG('naive_times', schedule=Naive(), start_date=datetime(2025, 1, 1)):
        EmptyOperator('a')
    class Stuck(Timetable):
        def next_dagrun_info(self, *, last_automated_data_interval, restriction):
            return DagRunInfo.exact(restriction.earliest)
    with DAG('stuck', schedule=Stuck(), start_date=datetime(2025, 1, 1), catchup=True):
        EmptyOperator('a')
    with DAG('healthy', schedule="@daily", start_date=datetime(2025, 1, 1)):
        EmptyOperator('a')
    """,
    )
    for dag_id in ("fails", "naive_times", "stuck", "healthy"):
        unpause(engine, dag_id)
    errors = {d: engine.call(dags.detail, engine.opened.versions, d).next_run_reason for d in ("fails", "naive_times", "stuck", "healthy")}
    assert "fails.py, line 6: ZeroDivisionError: division by zero" in errors["fails"]
    assert "which is no datetime with a timezone" in errors["naive_times"]
    assert "each must start after the last" in errors["stuck"]
    assert errors["healthy"].startswith("interval 20")
    assert len(scheduled(engine, "healthy", 1)) == 1
    with pytest.raises(Invalid, match="ZeroDivisionError"):
        engine.call(backfill.preview, engine.opened.versions, "fails", BackfillRequest(date(2025, 3, 6), date(2025, 3, 11)))


def test_a_dag_may_run_by_time_or_by_news(engine):
    engine.write(
        "both.py",
        """
    news = Dataset("file://both")
    with DAG('both', schedule=DatasetOrTime("@daily", news), start_date=datetime(2025, 1, 1)):
        EmptyOperator('a')
    """,
    )
    assert engine.call(dags.one, "both").schedule == "@daily or file://both"
    unpause(engine, "both")
    assert [r.run_type for r in scheduled(engine, "both", 1)] == ["scheduled"]
    engine.call(datasets.post_event, "file://both", {})
    assert sorted(r.run_type for r in scheduled(engine, "both", 2)) == ["dataset", "scheduled"]


def test_given_times_each_run_once_and_then_no_more(engine):
    engine.write(
        "events.py",
        """
    from datetime import UTC
    times = [datetime(2025, 1, 1, 5, tzinfo=UTC), datetime(2025, 4, 1, tzinfo=UTC), datetime(2025, 2, 3, 4, tzinfo=UTC)]
    with DAG('events', schedule=EventsTimetable(times, description="the days"), start_date=datetime(2025, 1, 1), catchup=True):
        EmptyOperator('a')
    """,
    )
    unpause(engine, "events")
    found = scheduled(engine, "events", 3)
    engine.processor.ask_timetables()
    assert [r.logical_date.month for r in found] == [4, 2, 1]
    detail = engine.call(dags.detail, engine.opened.versions, "events")
    assert (detail.dag.next_run, detail.next_run_reason) == (None, "the days names no further run")
