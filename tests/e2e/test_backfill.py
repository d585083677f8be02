"""Backfills: planned, carried out, paused, cancelled."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, date, datetime

import pytest
from engines import until
from sqlalchemy import text

from dagbook.commands import backfill
from dagbook.errors import Conflict, Invalid
from dagbook.queries import backfills
from dagbook.wire.rest import BackfillRequest

DAILY = "with DAG('{id}', schedule='@daily', start_date=datetime(2025, 1, 1){more}):\n"
DAYS = [date(2025, 1, n) for n in range(1, 6)]


def create(engine, dag_id, start=DAYS[0], end=DAYS[-1], **more):
    return engine.call(backfill.create, engine.opened.versions, dag_id, BackfillRequest(start, end, **more))


def one(engine, dag_id, number):
    return engine.call(backfills.one, dag_id, number)


def completed(engine, dag_id, number):
    return until(lambda: (b := one(engine, dag_id, number)).state == "completed" and b)


def states_by_day(engine, dag_id):
    rows = engine.call(
        lambda work: work.conn.execute(text("SELECT logical_date, state FROM dag_run WHERE dag_id = :d"), {"d": dag_id}).all()
    )
    return {r.logical_date.day: r.state for r in rows}


def five_days(engine, dag_id, tmp_path):
    """1: success, 2: failed, 3: running until the file ``go`` is there, 4: missing, 5: success."""
    go, fine = tmp_path / "go", tmp_path / "fine"
    engine.write(
        f"{dag_id}.py",
        DAILY.format(id=dag_id, more="")
        + f"""
            @task
            def work(ds=None):
                import os, time
                if ds == '2025-01-02' and not os.path.exists({str(fine)!r}): raise ValueError('broken')
                while ds == '2025-01-03' and not os.path.exists({str(go)!r}): time.sleep(0.05)
            work()
        """.replace("\n            ", "\n    "),
    )
    for day in (1, 2, 5):
        completed(engine, dag_id, create(engine, dag_id, DAYS[day - 1], DAYS[day - 1]))
    create(engine, dag_id, DAYS[2], DAYS[2])
    until(lambda: states_by_day(engine, dag_id).get(3) == "running")
    return go, fine


@pytest.mark.parametrize(("reprocess", "again"), [("none", {4}), ("failed", {2, 4}), ("completed", {1, 2, 4, 5})])
@pytest.mark.parametrize("backwards", [False, True])
def test_reprocess_says_which_days_run_again_and_a_running_one_is_never_touched(engine, tmp_path, reprocess, again, backwards):
    dag_id = f"again_{reprocess}_{backwards}"
    go, fine = five_days(engine, dag_id, tmp_path)
    fine.touch()
    request = BackfillRequest(DAYS[0], DAYS[-1], 1, reprocess, backwards)
    steps = engine.call(backfill.preview, engine.opened.versions, dag_id, request)
    order = [s.interval.start.day for s in steps]
    assert order == sorted(order, reverse=backwards)
    assert {s.interval.start.day for s in steps if s.action != "skip"} == again
    assert next(s for s in steps if s.interval.start.day == 3).reason == "its run is running now; it is never touched"
    made = completed(engine, dag_id, create(engine, dag_id, max_active_runs=1, reprocess=reprocess, run_backwards=backwards))
    assert {r.logical_date.day for r in made.runs} == again
    started = sorted(made.runs, key=lambda r: r.start_date)
    assert [r.logical_date.day for r in started] == sorted(again, reverse=backwards)
    assert states_by_day(engine, dag_id)[3] == "running"
    go.touch()
    until(lambda: states_by_day(engine, dag_id)[3] == "success")


def test_two_requests_at_once_make_each_day_once(engine):
    engine.write("twice.py", DAILY.format(id="twice", more="") + "    EmptyOperator('t')\n")
    made = []
    threads = [threading.Thread(target=lambda: made.append(create(engine, "twice", max_active_runs=5))) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(completed(engine, "twice", b).total for b in made) == [0, 5]
    assert Counter(states_by_day(engine, "twice").values()) == {"success": 5}


def test_a_paused_backfill_starts_nothing_until_it_is_resumed(engine, tmp_path):
    go = tmp_path / "go"
    engine.write(
        "pausing.py",
        DAILY.format(id="pausing", more="")
        + f"""
    @task
    def work():
        import os, time
        while not os.path.exists({str(go)!r}): time.sleep(0.05)
    work()
""",
    )
    made = create(engine, "pausing")
    until(lambda: states_by_day(engine, "pausing")[1] == "running")
    engine.call(backfill.pause, "pausing", made, True)
    go.touch()
    until(lambda: states_by_day(engine, "pausing")[1] == "success")
    assert one(engine, "pausing", made).state == "paused"
    assert one(engine, "pausing", made).counts == {"success": 1, "queued": 4}
    engine.call(backfill.pause, "pausing", made, False)
    assert completed(engine, "pausing", made).counts == {"success": 5}
    with pytest.raises(Conflict, match="has ended already: completed"):
        engine.call(backfill.pause, "pausing", made, True)


def test_a_cancelled_backfill_stops_what_runs_and_starts_nothing_more(engine, tmp_path):
    marks = tmp_path / "marks"
    engine.write(
        "cancelling.py",
        DAILY.format(id="cancelling", more="")
        + f"""
    @task
    def work():
        import time
        for _ in range(600):
            open({str(marks)!r}, 'a').write('.')
            time.sleep(0.05)
    work()
""",
    )
    made = create(engine, "cancelling", max_active_runs=2)
    until(lambda: marks.exists() and states_by_day(engine, "cancelling")[2] == "running")
    engine.call(backfill.cancel, "cancelling", made, "ann")
    found = one(engine, "cancelling", made)
    assert (found.state, found.counts) == ("cancelled", {"failed": 5})
    assert {r.reason for r in found.runs} == {"its backfill was cancelled by ann"}
    until(lambda: (n := marks.stat().st_size) and not until_grows(marks, n))
    with pytest.raises(Conflict, match="cancelled"):
        engine.call(backfill.cancel, "cancelling", made, "ann")


def until_grows(path, size):
    import time

    time.sleep(0.3)
    return path.stat().st_size > size


def test_depends_on_past_cannot_go_backwards(engine):
    engine.write("past.py", DAILY.format(id="past", more="") + "    EmptyOperator('t', depends_on_past=True)\n")
    with pytest.raises(Invalid, match="'past' can't be run backwards: task 't' has depends_on_past"):
        create(engine, "past", run_backwards=True)


def test_a_cleared_earlier_run_and_a_later_one_that_waits_for_it_both_end(engine, tmp_path):
    fine = tmp_path / "fine"
    engine.write(
        "knot.py",
        f"""
        default = dict(depends_on_past=True)
        with DAG('knot', schedule='@daily', start_date=datetime(2025, 1, 1), end_date=datetime(2025, 1, 2), catchup=True,
                 max_active_runs=1, default_args=default):
            @task
            def b(ds=None):
                import os
                if ds == '2025-01-01' and not os.path.exists({str(fine)!r}): raise ValueError('not yet')
            EmptyOperator('a') >> b() >> EmptyOperator('c')
    """,
    )
    from dagbook.commands import clear, pause
    from dagbook.wire.rest import ClearRequest

    engine.call(pause.pause, engine.opened.versions, "knot", False, datetime.now(UTC))
    until(lambda: states_by_day(engine, "knot") == {1: "failed", 2: "running"})
    fine.touch()
    request = ClearRequest(start=datetime(2025, 1, 1, tzinfo=UTC), end=datetime(2025, 1, 1, tzinfo=UTC), only_failed=True)
    assert engine.call(clear.clear, engine.opened.versions, "knot", request, 100).count == 2
    until(lambda: states_by_day(engine, "knot") == {1: "success", 2: "success"})
