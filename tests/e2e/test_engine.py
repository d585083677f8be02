"""The engine without a notebook: DAG files, schedules, deferral, retries; in one process, on a real database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from engines import HEAD, until

from dagbook.commands import backfill, pause
from dagbook.queries import dags, runs
from dagbook.wire.rest import BackfillRequest


def test_a_file_becomes_a_paused_dag_that_runs_when_it_is_unpaused(engine):
    engine.write("plain.py", "with DAG('plain'):\n    BashOperator('b', 'echo {{ ds }}; echo last')")
    assert engine.call(dags.one, "plain").is_paused
    detail = engine.run("plain", logical_date=datetime(2025, 3, 1, tzinfo=UTC))
    assert detail.run.state == "success"
    assert engine.result(detail, "b") == "last"


def test_a_schedule_makes_its_runs_by_itself(engine):
    engine.write(
        "ticks.py",
        """
        with DAG('ticks', schedule=timedelta(days=1), start_date=datetime.now() - timedelta(days=3, hours=1), catchup=True):
            EmptyOperator('a')
    """,
    )
    engine.call(pause.pause, engine.opened.versions, "ticks", False, datetime.now(UTC))
    found = until(lambda: (r := engine.call(runs.newest, "ticks", 10)) and len(r) == 3 and all(x.end_date for x in r) and r)
    assert [r.run_type for r in found] == ["scheduled"] * 3
    assert engine.call(dags.one, "ticks").next_run is not None


def test_a_file_with_an_error_keeps_it_with_its_line_and_others_dont_notice(engine):
    engine.write("good.py", "with DAG('good'):\n    EmptyOperator('a')")
    path = engine.write("bad.py", "with DAG('bad'):\n    EmptyOperator('a')\nimport nosuchmodule")
    error = next(e for e in engine.call(dags.import_errors) if e.path == str(path))
    assert (error.line, error.message) == (5, "ModuleNotFoundError: No module named 'nosuchmodule'")
    assert engine.call(dags.one, "good").dag_id == "good"
    path.write_text(HEAD + "with DAG('bad'):\n    EmptyOperator('a')")
    engine.processor.look()
    assert str(path) not in [e.path for e in engine.call(dags.import_errors)]
    path.unlink()
    engine.processor.look()
    assert "bad" not in [d.dag_id for d in engine.call(dags.listing)]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("import time\nwhile True: time.sleep(1)", "longer than 3 s and was stopped"),
        ("import os\nos._exit(3)", "ended with code 3"),
        ("def f(:", "SyntaxError"),
        ("import sys\nsys.exit('no')", "SystemExit: no"),
    ],
)
def test_a_file_that_hangs_or_dies_is_only_its_own_trouble(engine, body, words):
    path = engine.folder / "trouble.py"
    path.write_text("# dagbook\n" + body)
    engine.processor.look()
    assert words in next(e.message for e in engine.call(dags.import_errors) if e.path == str(path))
    path.unlink()
    engine.processor.look()


def test_two_files_cant_define_one_dag(engine):
    first = engine.write("twice_a.py", "with DAG('twice'):\n    EmptyOperator('a')")
    second = engine.write("twice_b.py", "with DAG('twice'):\n    EmptyOperator('b')")
    assert f"is defined by {first} already" in next(e.message for e in engine.call(dags.import_errors) if e.path == str(second))
    first.unlink()
    engine.processor.look()
    assert not [e for e in engine.call(dags.import_errors) if e.path == str(second)]
    second.unlink()
    engine.processor.look()


def test_failures_skips_and_trigger_rules_end_a_run_as_the_table_says(engine):
    engine.write(
        "rules.py",
        """
        with DAG('rules'):
            @task
            def ok(): return 1
            @task
            def bad(): raise ValueError('no')
            @task
            def skip(): raise SkipTask('not today')
            o, b, s = ok(), bad(), skip()
            for rule in ('all_success', 'all_done', 'one_failed', 'none_failed'):
                [o, b, s] >> EmptyOperator(rule, trigger_rule=rule)
            [o, s] >> EmptyOperator('min_one', trigger_rule='none_failed_min_one_success')
    """,
    )
    detail = engine.run("rules")
    assert engine.states(detail) == {
        "ok": "success",
        "bad": "failed",
        "skip": "skipped",
        "all_success": "upstream_failed",
        "all_done": "success",
        "one_failed": "success",
        "none_failed": "upstream_failed",
        "min_one": "success",
    }
    assert detail.run.state == "failed"


def test_retries_are_made_and_counted(engine, tmp_path):
    mark = tmp_path / "tries"
    engine.write(
        "again.py",
        f"""
        with DAG('again'):
            @task(retries=2, retry_delay=timedelta(0))
            def flaky():
                with open({str(mark)!r}, 'a') as f: f.write('x')
                if len(open({str(mark)!r}).read()) < 3: raise ValueError('not yet')
                return 'done'
            @task(retries=5)
            def final(): raise FailTask('never mind')
            flaky(), final()
    """,
    )
    detail = engine.run("again")
    assert engine.states(detail) == {"flaky": "success", "final": "failed"}
    assert next(t.try_number for t in detail.tasks if t.task_id == "flaky") == 3
    assert next(t.try_number for t in detail.tasks if t.task_id == "final") == 1


def test_mapping_over_results_products_kwargs_and_nothing(engine):
    engine.write(
        "maps.py",
        """
        with DAG('maps'):
            @task
            def n(): return [1, 2]
            @task
            def none(): return []
            @task
            def pair(x, y): return x * y
            @task
            def gather(xs): return list(xs)
            gather.override(task_id='products')(pair.expand(x=n(), y=[10, 20]))
            gather.override(task_id='kwargs')(pair.override(task_id='k').expand_kwargs([{'x': 1, 'y': 2}, {'x': 3, 'y': 4}]))
            gather.override(task_id='empty', trigger_rule='all_done')(pair.override(task_id='e').partial(y=1).expand(x=none()))
    """,
    )
    detail = engine.run("maps")
    assert engine.result(detail, "products") == [10, 20, 20, 40]
    assert engine.result(detail, "kwargs") == [2, 12]
    assert engine.states(detail)["e"] == "skipped"
    assert engine.result(detail, "empty") == []


def test_a_value_that_cant_be_carried_fails_its_task_with_the_way_out(engine):
    engine.write("lost.py", "with DAG('lost'):\n    @task(retries=3)\n    def a(): return lambda: 1\n    a()")
    detail = engine.run("lost")
    assert detail.tasks[0].reason.startswith("the value is a builtins.function, which can't be carried")
    assert detail.tasks[0].try_number == 1


def test_a_task_is_stopped_at_its_timeout(engine):
    engine.write(
        "slow.py",
        """
        with DAG('slow'):
            @task(execution_timeout=timedelta(seconds=1))
            def a():
                import time
                time.sleep(60)
            a()
    """,
    )
    detail = engine.run("slow")
    assert "longer than its execution_timeout of 1 s" in detail.tasks[0].reason


def test_a_deferred_task_waits_in_the_triggerer_and_goes_on(engine):
    engine.write(
        "later.py",
        """
        with DAG('later'):
            DateTimeSensor('wait', datetime.now().astimezone() + timedelta(seconds=1.5)) >> EmptyOperator('after')
            DateTimeSensor('past', '{{ ts }}')
    """,
    )
    run = engine.start("later")
    until(lambda: engine.states(engine.detail("later", run))["wait"] == "deferred")
    assert engine.states(engine.finished("later", run)) == {"wait": "success", "past": "success", "after": "success"}


def test_a_module_that_starts_threads_still_runs(engine):
    engine.write(
        "threads.py",
        """
        import threading, time
        threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        with DAG('threads'):
            @task
            def a(): return 'ran'
            a()
    """,
    )
    assert engine.result(engine.run("threads"), "a") == "ran"


def test_a_run_keeps_the_version_that_it_began_with(engine):
    body = "with DAG('pinned'):\n    @task\n    def a():\n        import time\n        time.sleep({})\n    @task\n    def b(x): return {!r}\n    b(a())"
    engine.write("pinned.py", body.format(1.5, "old"))
    run = engine.start("pinned")
    until(lambda: engine.states(engine.detail("pinned", run))["a"] == "running")
    engine.write("pinned.py", body.format(0, "new"))
    assert engine.result(engine.finished("pinned", run), "b") == "old"
    assert engine.result(engine.run("pinned"), "b") == "new"


def test_a_backfill_holds_to_its_limit_and_goes_backwards_when_told(engine):
    engine.write(
        "fill.py",
        """
        with DAG('fill', schedule='@daily', start_date=datetime(2025, 1, 1)):
            @task
            def a(ds): return ds
            a()
    """,
    )
    day = datetime(2025, 1, 1, tzinfo=UTC).date()
    request = BackfillRequest(day, day + timedelta(days=4), 1, run_backwards=True)
    engine.call(backfill.create, engine.opened.versions, "fill", request)
    found = until(lambda: (r := engine.call(runs.newest, "fill", 10)) and len(r) == 5 and all(x.end_date for x in r) and r)
    began = [r.logical_date.day for r in sorted(found, key=lambda r: r.start_date)]
    assert began == [5, 4, 3, 2, 1]
