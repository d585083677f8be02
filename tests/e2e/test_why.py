"""``why`` on the engine as it runs: every reason with its numbers."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pytest
from engines import until
from sqlalchemy import text

from dagbook.commands import backfill, pause, trigger
from dagbook.queries import why
from dagbook.wire.rest import BackfillRequest


def of_dag(engine, dag_id):
    return engine.call(why.dag, engine.opened.versions, engine.settings, dag_id)


def of_run(engine, dag_id, run_id):
    return engine.call(why.run, engine.opened.versions, engine.settings, dag_id, run_id)


def of_task(engine, dag_id, run_id, task_id, map_index=-1):
    return engine.call(why.task, engine.opened.versions, engine.settings, dag_id, run_id, task_id, map_index)


def codes(found):
    return [r.code for r in found.reasons]


def state(engine, run_id, task_id):
    detail = next(engine.detail(r.dag_id, r.run_id) for r in [run_row(engine, run_id)])
    return next(str(t.state) for t in detail.tasks if t.task_id == task_id)


def run_row(engine, run_id):
    return engine.call(lambda w: w.conn.execute(text("SELECT dag_id, run_id FROM dag_run WHERE run_id = :r"), {"r": run_id}).one())


SLOW = """
    @task
    def slow():
        import os, time
        while not os.path.exists({go!r}): time.sleep(0.05)
"""


def test_a_dag_says_why_no_run_of_it_starts(engine):
    engine.write("when.py", "with DAG('when', schedule='@yearly', start_date=datetime(2025, 1, 1)):\n    EmptyOperator('t')\n")
    found = of_dag(engine, "when")
    assert codes(found)[0] == "paused"
    assert found.reasons[0].fix == "unpause when"
    engine.call(pause.pause, engine.opened.versions, "when", False, datetime.now(UTC))
    until(lambda: codes(of_dag(engine, "when")) == ["incomplete_interval"])
    year = datetime.now(UTC).year
    assert f"due at {year + 1}-01-01 00:00:00 UTC, in" in of_dag(engine, "when").reasons[0].text
    assert f"interval {year}-01-01 00:00 – {year + 1}-01-01 00:00" in of_dag(engine, "when").reasons[0].text
    engine.write("when.py", "with DAG('when', schedule='@yearly', start_date=datetime(2025, 1, 1)):\n    EmptyOperator('t'\n")
    assert codes(of_dag(engine, "when"))[0] == "import_error"
    assert re.search(r"when\.py, line \d+: SyntaxError", of_dag(engine, "when").reasons[0].text)
    engine.write("byhand.py", "with DAG('byhand'):\n    EmptyOperator('t')\n")
    assert codes(of_dag(engine, "byhand")) == ["paused", "no_schedule"]


def test_max_active_runs_names_the_runs_that_hold_the_places(engine, tmp_path):
    go = tmp_path / "go"
    engine.write("places.py", "with DAG('places', max_active_runs=1):" + SLOW.format(go=str(go)) + "    slow()\n")
    first = engine.start("places")
    until(lambda: state(engine, first, "slow") == "running")
    second, third = engine.start("places"), engine.start("places")
    found = of_run(engine, "places", third)
    assert codes(found) == ["max_active_runs", "in_line"]
    assert f"1 of 1 are running: {first}" in found.reasons[0].text
    assert "1 queued run goes before it" in found.reasons[1].text
    assert codes(of_task(engine, "places", second, "slow"))[:2] == ["run_queued", "max_active_runs"]
    running = of_run(engine, "places", first)
    assert codes(running) == ["running"]
    assert re.search(r"'slow' is running for \d+ s, try 1 of 1, process \d+ on ", running.reasons[0].text)
    go.touch()
    for run in (first, second, third):
        assert codes(of_run(engine, "places", engine.finished("places", run).run.run_id)) == ["success"]


def test_a_task_that_waits_leads_to_the_retry_that_holds_it(engine):
    engine.write(
        "retrying.py",
        """
        with DAG('retrying'):
            @task(retries=3, retry_delay=timedelta(minutes=5))
            def extract(): raise ValueError('no network')
            extract() >> EmptyOperator('load') >> EmptyOperator('report')
    """,
    )
    run = engine.start("retrying")
    until(lambda: state(engine, run, "extract") == "up_for_retry")
    found = of_task(engine, "retrying", run, "report")
    assert codes(found) == ["waits", "retry"]
    assert found.reasons[0].text == "'report' waits: 0 of 1 upstream tasks are done (all_success)"
    assert re.search(
        r"'extract' failed and is up for retry until .* UTC, in 4 min \d+ s, try 1 of 4 has ended: .*no network", found.reasons[1].text
    )
    assert codes(of_run(engine, "retrying", run)) == ["retry"]


def test_a_full_pool_says_who_holds_it(engine, tmp_path):
    go = tmp_path / "go"
    engine.call(lambda w: w.conn.execute(text("INSERT INTO pool (name, slots) VALUES ('etl', 1)")))
    body = (
        "with DAG('{0}'):"
        + SLOW.format(go=str(go)).replace("{", "{{").replace("}", "}}").replace("@task", "@task(pool='etl')")
        + "    slow()\n"
    )
    engine.write("holds.py", body.format("holds"))
    engine.write("waits.py", body.format("waits"))
    first = engine.start("holds")
    until(lambda: state(engine, first, "slow") == "running")
    second = engine.start("waits")
    until(lambda: state(engine, second, "slow") == "scheduled")
    found = of_task(engine, "waits", second, "slow")
    assert codes(found) == ["no_slot", "holders"]
    assert "pool 'etl' has 0 of 1 slots free, 1 wanted" in found.reasons[0].text
    assert f"held by holds.slow of {first} (1)" in found.reasons[1].text
    assert found.reasons[1].fix == "dagbook pools set etl SLOTS"
    go.touch()
    engine.finished("waits", second)


def test_a_failed_run_names_the_culprit_and_how_to_run_it_again(engine):
    engine.write(
        "culprit.py",
        """
        with DAG('culprit'):
            @task
            def extract(): raise ValueError('boom')
            extract() >> EmptyOperator('load') >> EmptyOperator('report')
    """,
    )
    run = engine.run("culprit").run.run_id
    found = of_run(engine, "culprit", run)
    assert codes(found) == ["run_failed", "failed", "clear"]
    assert "boom" in found.reasons[1].text
    assert found.reasons[-1].fix == f"clear culprit --run {run} --only-failed"
    chain = of_task(engine, "culprit", run, "report")
    assert codes(chain) == ["upstream_failed", "failed"]
    assert chain.reasons[1].text.startswith("'extract' failed, try 1 of 1: ")


def test_a_mapped_task_says_how_many_are_where_and_one_instance_speaks_for_itself(engine):
    engine.write(
        "some.py",
        """
        with DAG('some'):
            @task(retries=1, retry_delay=timedelta(hours=1))
            def one(x):
                if x == 2: raise ValueError('two')
            one.expand(x=[1, 2, 3]) >> EmptyOperator('after')
    """,
    )
    run = engine.start("some")
    until(
        lambda: "1 up_for_retry" in repr(of_task(engine, "some", run, "one")) and "2 success" in repr(of_task(engine, "some", run, "one"))
    )
    assert codes(of_task(engine, "some", run, "after")) == ["waits", "retry"]
    assert codes(of_task(engine, "some", run, "one", 0)) == ["success"]
    assert "'one[1]'" in of_task(engine, "some", run, "one", 1).reasons[0].text
    engine.call(trigger.cancel, "some", run, "")


def test_a_paused_backfill_and_the_run_before_are_reasons(engine):
    engine.write(
        "chain.py",
        """
        with DAG('chain', schedule='@daily', start_date=datetime(2025, 1, 1)):
            @task(depends_on_past=True)
            def t(ds=None):
                if ds == '2025-01-01': raise ValueError('first day')
            t()
    """,
    )
    made = engine.call(backfill.create, engine.opened.versions, "chain", BackfillRequest(date(2025, 1, 1), date(2025, 1, 3), 1))
    second = "backfill__2025-01-02T00:00:00+00:00"
    until(lambda: codes(of_run(engine, "chain", second)) == ["waits"])
    assert (
        "depends_on_past: 't' of the run before, 'backfill__2025-01-01T00:00:00+00:00', is failed"
        in of_run(engine, "chain", second).reasons[0].text
    )
    engine.call(backfill.cancel, "chain", made, "")

    def paused_at_once(work):
        number = backfill.create(work, engine.opened.versions, "chain", BackfillRequest(date(2025, 2, 1), date(2025, 2, 1), 1))
        backfill.pause(work, "chain", number, True)
        return number

    made = engine.call(paused_at_once)
    found = of_run(engine, "chain", "backfill__2025-02-01T00:00:00+00:00")
    assert codes(found) == ["backfill_paused"]
    assert found.reasons[0].fix == f"backfill chain --resume -n {made}"


@pytest.mark.parametrize("what", ["dag", "run"])
def test_a_scheduler_that_does_not_beat_is_the_first_reason(engine, what):
    from dataclasses import replace

    engine.write(f"dead_{what}.py", f"with DAG('dead_{what}'):\n    EmptyOperator('t')\n")
    run = engine.call(trigger.trigger, engine.opened.versions, f"dead_{what}", datetime.now(UTC)).run_id
    impatient = replace(engine.settings, heartbeat_timeout=-1.0)
    found = (
        engine.call(why.dag, engine.opened.versions, impatient, f"dead_{what}")
        if what == "dag"
        else engine.call(why.run, engine.opened.versions, impatient, f"dead_{what}", run)
    )
    assert found.reasons[0].code == "no_scheduler"
    assert re.match(r"no scheduler heartbeat for \d+ s", found.reasons[0].text)
    assert found.reasons[0].fix == "dagbook standalone"
