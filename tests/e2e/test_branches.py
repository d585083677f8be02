"""Branches, short circuits, setups and teardowns, on the engine as it runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from engines import until

from dagbook.commands import backfill
from dagbook.queries import runs
from dagbook.wire.rest import BackfillRequest


def test_a_branch_runs_what_it_chose_and_skips_the_rest(engine):
    engine.write(
        "branch.py",
        """
        with DAG('branch'):
            @task.branch
            def pick(): return 'left'
            @task
            def left(): return 1
            right, after = EmptyOperator('right'), EmptyOperator('after')
            join = EmptyOperator('join', trigger_rule='none_failed_min_one_success')
            p = pick()
            p >> [left(), right] >> join
            right >> after
    """,
    )
    detail = engine.run("branch")
    assert engine.states(detail) == {"pick": "success", "left": "success", "right": "skipped", "after": "skipped", "join": "success"}
    assert detail.run.state == "success"
    assert next(t.reason for t in detail.tasks if t.task_id == "right") == "'pick' did not choose it"


def test_an_edge_that_a_branch_did_not_take_is_no_success(engine):
    engine.write(
        "untaken.py",
        """
        with DAG('untaken'):
            b1 = BranchPythonOperator('b1', lambda: 'b2')
            b2 = BranchPythonOperator('b2', lambda: 'dead')
            dead, d = EmptyOperator('dead'), EmptyOperator('d')
            P = EmptyOperator('P', trigger_rule='none_failed_min_one_success')
            b1 >> [b2, P]
            b2 >> [dead, d]
            d >> P
    """,
    )
    detail = engine.run("untaken")
    assert engine.states(detail) == {"b1": "success", "b2": "success", "dead": "success", "d": "skipped", "P": "skipped"}
    assert detail.run.state == "success"


def test_one_success_waits_for_a_parent_that_can_still_succeed(engine):
    engine.write(
        "waits.py",
        """
        with DAG('waits'):
            @task
            def t1():
                import time
                time.sleep(1)
            b = BranchPythonOperator('b', lambda: 'run_me')
            b >> [EmptyOperator('run_me'), EmptyOperator('skip_me')]
            one = EmptyOperator('one', trigger_rule='one_success')
            b.dag.get_task('skip_me') >> one
            t1() >> EmptyOperator('t2') >> one
    """,
    )
    assert engine.states(engine.run("waits")) == {
        "t1": "success",
        "b": "success",
        "run_me": "success",
        "skip_me": "skipped",
        "t2": "success",
        "one": "success",
    }


@pytest.mark.parametrize(("ignore", "cleanup"), [(True, "skipped"), (False, "success")])
def test_a_short_circuit_skips_all_below_or_only_what_is_next_and_a_teardown_still_runs(engine, ignore, cleanup):
    engine.write(
        f"circuit_{ignore}.py",
        f"""
        with DAG('circuit_{ignore}'):
            @setup
            def s1(): return 1
            @teardown
            def t1(): return 'gone'
            s, t = s1(), t1()
            sc = ShortCircuitOperator('sc', lambda: False, ignore_downstream_trigger_rules={ignore})
            work = EmptyOperator('work')
            s >> sc >> work >> EmptyOperator('cleanup', trigger_rule='all_done')
            work >> t.as_teardown(setups=s)
    """,
    )
    detail = engine.run(f"circuit_{ignore}")
    assert engine.states(detail) == {"s1": "success", "sc": "success", "work": "skipped", "cleanup": cleanup, "t1": "success"}
    assert detail.run.state == "success"


def test_a_branch_that_names_no_downstream_fails_and_says_what_there_is(engine):
    engine.write(
        "lost_branch.py",
        """
        with DAG('lost_branch'):
            BranchPythonOperator('b', lambda: 'lefft') >> [EmptyOperator('left'), EmptyOperator('right')]
    """,
    )
    detail = engine.run("lost_branch")
    assert engine.states(detail) == {"b": "failed", "left": "upstream_failed", "right": "upstream_failed"}
    reason = next(t.reason for t in detail.tasks if t.task_id == "b")
    assert "'lefft'" in reason
    assert "left" in reason.replace("lefft", "")


def test_a_branch_may_choose_a_group_or_nothing(engine):
    engine.write(
        "group_branch.py",
        """
        with DAG('group_branch'):
            b = BranchPythonOperator('b', lambda: 'g')
            none = BranchPythonOperator('none', lambda: None)
            with TaskGroup('g') as g:
                EmptyOperator('x') >> EmptyOperator('y')
            b >> [g, EmptyOperator('other')]
            none >> EmptyOperator('never')
    """,
    )
    assert engine.states(engine.run("group_branch")) == {
        "b": "success",
        "none": "success",
        "g.x": "success",
        "g.y": "success",
        "other": "skipped",
        "never": "skipped",
    }


def test_latest_only_skips_a_run_that_is_not_the_latest_and_lets_a_run_by_hand_go_on(engine):
    engine.write(
        "latest.py",
        """
        with DAG('latest', schedule='@daily', start_date=datetime(2025, 1, 1)):
            LatestOnlyOperator('latest') >> EmptyOperator('report')
            EmptyOperator('always')
    """,
    )
    by_hand = engine.run("latest", logical_date=datetime(2025, 1, 3, tzinfo=UTC))
    assert engine.states(by_hand)["report"] == "success"
    day = datetime(2025, 1, 1, tzinfo=UTC).date()
    engine.call(backfill.create, engine.opened.versions, "latest", BackfillRequest(day, day, 1))
    old = until(lambda: next((r for r in engine.call(runs.newest, "latest", 50) if r.run_type == "backfill" and r.end_date), None))
    assert engine.states(engine.detail("latest", old.run_id)) == {"latest": "success", "report": "skipped", "always": "success"}


def test_a_teardown_runs_after_a_failure_and_does_not_hide_it(engine):
    engine.write(
        "teardown.py",
        """
        with DAG('teardown'):
            @setup
            def create(): return 'cluster'
            @task
            def work(): raise ValueError('broken')
            @teardown
            def delete(): return 'deleted'
            c = create()
            d = delete().as_teardown(setups=c)
            with d:
                work()
        with DAG('teardown_alone'):
            @setup
            def create(): raise ValueError('no cluster')
            @teardown
            def delete(): return 'deleted'
            c = create()
            with delete().as_teardown(setups=c):
                EmptyOperator('work')
        with DAG('teardown_fails'):
            @teardown
            def delete(): raise ValueError('still there')
            EmptyOperator('work') >> delete()
        with DAG('teardown_fails_run'):
            @teardown(on_failure_fail_dagrun=True)
            def delete(): raise ValueError('still there')
            EmptyOperator('work') >> delete()
    """,
    )
    detail = engine.run("teardown")
    assert engine.states(detail) == {"create": "success", "work": "failed", "delete": "success"}
    assert detail.run.state == "failed"
    detail = engine.run("teardown_alone")
    assert engine.states(detail) == {"create": "failed", "work": "upstream_failed", "delete": "upstream_failed"}
    assert engine.run("teardown_fails").run.state == "success"
    assert engine.run("teardown_fails_run").run.state == "failed"


def test_fail_fast_skips_what_has_not_started_and_still_tears_down(engine):
    engine.write(
        "fast.py",
        """
        with DAG('fast', fail_fast=True):
            @setup
            def s(): return 1
            @teardown
            def t(): return 1
            @task
            def bad(): raise ValueError('no')
            @task
            def slow():
                import time
                time.sleep(1.5)
            with t().as_teardown(setups=s()):
                bad()
                slow() >> EmptyOperator('after')
    """,
    )
    detail = engine.run("fast")
    assert engine.states(detail) == {"s": "success", "bad": "failed", "slow": "success", "after": "skipped", "t": "success"}
    assert detail.run.state == "failed"


def test_skips_are_carried_by_rules_and_an_all_done_task_mapped_over_a_skip_is_skipped(engine):
    engine.write(
        "skipmap.py",
        """
        with DAG('skipmap'):
            @task
            def skip(): raise SkipTask('none today')
            @task
            def m(v): return v
            m.override(task_id='m1').expand(v=(s := skip()))
            m.override(task_id='m2', trigger_rule='all_done').expand(v=s)
            @task
            def each(v): raise SkipTask('no')
            @task(trigger_rule='all_done')
            def reduce(vs): return list(vs)
            reduce(each.expand(v=[1, 2]))
    """,
    )
    detail = engine.run("skipmap")
    states = engine.states(detail)
    assert (states["m1"], states["m2"], detail.run.state) == ("skipped", "skipped", "success")
    assert engine.result(detail, "reduce") == []


def test_default_args_labels_and_chains_are_what_they_say(engine):
    engine.write(
        "edges.py",
        """
        with DAG('edges', default_args={'retries': 1, 'retry_delay': timedelta(0), 'owner': 'data'}):
            a, b, c, d = (EmptyOperator(x) for x in 'abcd')
            chain(a, [b, c], d)
            a >> Label('again') >> d
    """,
    )
    spec = engine.opened.versions.spec
    with engine.opened.store.begin() as work:
        version = work.conn.exec_driver_sql("select version from dag where dag_id = 'edges'").scalar_one()
        found = spec(work, version)
    assert set(found.task("d").upstream) == {"a", "b", "c"}
    assert found.task("d").labels == {"a": "again"}
    assert {t.owner for t in found.tasks} == {"data"}
    assert {t.retry.limit for t in found.tasks} == {1}
    assert {t.retry.delay for t in found.tasks} == {timedelta(0)}
