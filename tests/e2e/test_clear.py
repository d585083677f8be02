"""Clear, on the engine as it runs."""

from __future__ import annotations

import pytest
from engines import until
from sqlalchemy import text

from dagbook.commands import clear
from dagbook.errors import Invalid, NotFound
from dagbook.queries import runs
from dagbook.wire.rest import ClearRequest


def cleared(engine, dag_id, **request):
    return engine.call(clear.clear, engine.opened.versions, dag_id, ClearRequest(**request), 100)


def again(engine, dag_id, run_id, **request):
    """Clear in the run, and how it ends then."""
    cleared(engine, dag_id, run_id=run_id, **request)
    return engine.finished(dag_id, run_id)


def history(engine, run_id, task_id):
    rows = engine.call(
        lambda work: work.conn.execute(
            text(
                "SELECT h.try_number, h.state FROM task_instance_history h JOIN dag_run r ON r.id = h.run "
                "WHERE r.run_id = :r AND task_id = :t ORDER BY 1"
            ),
            {"r": run_id, "t": task_id},
        ).all()
    )
    return [tuple(r) for r in rows]


def test_a_cleared_task_runs_again_with_what_is_below_it_and_the_tries_count_on(engine, tmp_path):
    flag = tmp_path / "flag"
    engine.write(
        "again.py",
        f"""
        import os
        with DAG('again'):
            @task
            def first(): return 1
            @task(retries=0)
            def second(x):
                if not os.path.exists({str(flag)!r}): raise ValueError('not there')
                return x + 1
            @task
            def third(x): return x * 10
            third(second(first()))
    """,
    )
    detail = engine.run("again")
    assert engine.states(detail) == {"first": "success", "second": "failed", "third": "upstream_failed"}
    flag.touch()
    preview = cleared(engine, "again", run_id=detail.run.run_id, tasks=["second"], dry_run=True)
    assert [(i.task_id, i.state) for i in preview.instances] == [("second", "failed")]
    assert preview.left_behind == ["third"]
    assert engine.detail("again", detail.run.run_id).run.state == "failed"
    detail = again(engine, "again", detail.run.run_id, only_failed=True)
    assert engine.states(detail) == {"first": "success", "second": "success", "third": "success"}
    assert engine.result(detail, "third") == 20
    assert [t.try_number for t in detail.tasks] == [1, 2, 1]
    assert history(engine, detail.run.run_id, "second") == [(1, "failed"), (2, "success")]


def test_a_task_that_is_cleared_while_it_runs_is_stopped_and_runs_once_more_without_a_failure_callback(engine, tmp_path):
    marks = tmp_path / "marks"
    engine.write(
        "running.py",
        f"""
        import time
        def failed(context):
            with open({str(marks)!r}, 'a') as f: f.write('F\\n')
        with DAG('running'):
            @task(on_failure_callback=failed)
            def slow(ti=None):
                for _ in range(300 if ti.try_number < 3 else 3):
                    with open({str(marks)!r}, 'a') as f: f.write(f'{{ti.try_number}}\\n')
                    time.sleep(0.1)
            slow()
    """,
    )
    run_id = engine.start("running")
    for n in (1, 2):
        until(lambda n=n: marks.exists() and f"{n}\n" in marks.read_text())
        assert cleared(engine, "running", run_id=run_id).count == 1
        cleared(engine, "running", run_id=run_id)  # a second time is nothing new
    detail = engine.finished("running", run_id)
    assert engine.states(detail) == {"slow": "success"}
    written = marks.read_text().split()
    assert "F" not in written
    assert written[written.index("3") :] == ["3", "3", "3"]
    assert history(engine, run_id, "slow") == [(1, "restarting"), (2, "restarting"), (3, "success")]
    logs = [
        engine.call(runs.log_chunk, engine.opened.versions, engine.settings.logs_folder, "running", run_id, "slow", -1, n, 0)
        for n in (1, 2, 3)
    ]
    assert all(chunk.complete for chunk in logs)


def test_the_expansion_is_computed_again(engine, tmp_path):
    size = tmp_path / "size"
    engine.write(
        "resized.py",
        f"""
        with DAG('resized'):
            @task
            def items(): return list(range(int(open({str(size)!r}).read())))
            @task
            def one(x): return x
            @task
            def total(xs): return sum(xs)
            total(one.expand(x=items()))
    """,
    )
    size.write_text("3")
    detail = engine.run("resized")
    assert engine.result(detail, "total") == 3
    for n, removed, total in ((5, 0, 10), (2, 3, 1), (4, 1, 6), (0, 5, None), (2, 3, 1)):
        size.write_text(str(n))
        detail = again(engine, "resized", detail.run.run_id)
        one = next(t for t in detail.tasks if t.task_id == "one")
        assert one.counts.get("removed", 0) == removed
        assert one.counts.get("success", 0) == n
        assert total is None or engine.result(detail, "total") == total
    assert engine.states(detail)["total"] == "success"


def test_one_index_is_cleared_alone(engine):
    engine.write(
        "index.py",
        """
        with DAG('index'):
            @task
            def one(x): return x
            @task
            def total(xs): return sum(xs)
            total(one.expand(x=[1, 2, 3]))
    """,
    )
    detail = engine.run("index")
    detail = again(engine, "index", detail.run.run_id, tasks=["one"], map_indexes=[1], downstream=True)
    tries = engine.call(runs.instances, engine.opened.versions, "index", detail.run.run_id, "one", 0, 10)
    assert [i.try_number for i in tries] == [1, 2, 1]
    assert engine.result(detail, "total") == 6


def test_setups_and_teardowns_are_cleared_with_the_tasks_that_need_them(engine):
    engine.write(
        "scaffold.py",
        """
        with DAG('scaffold'):
            @setup
            def create(): return 1
            @teardown
            def delete(): return 2
            before = EmptyOperator('before')
            c = create()
            with delete().as_teardown(setups=c):
                work = EmptyOperator('work') >> EmptyOperator('more')
            before >> c
    """,
    )
    detail = engine.run("scaffold")
    found = cleared(engine, "scaffold", run_id=detail.run.run_id, tasks=["more"], dry_run=True)
    assert {i.task_id for i in found.instances} == {"create", "more", "delete"}


def test_a_cleared_run_goes_on_by_the_current_version_or_its_own_by_choice(engine):
    v1 = "with DAG('renamed'):\n    EmptyOperator('a') >> EmptyOperator('b')\n"
    engine.write("renamed.py", v1)
    first, third = engine.run("renamed"), engine.run("renamed")
    engine.write("renamed.py", v1.replace("'b')", "'b2') >> EmptyOperator('c')"))
    old = again(engine, "renamed", first.run.run_id, original=True)
    assert engine.states(old) == {"a": "success", "b": "success"}
    new = again(engine, "renamed", third.run.run_id)
    assert engine.states(new) == {"a": "success", "b2": "success", "c": "success"}
    assert new.run.state == "success"
    kept = engine.call(
        lambda work: work.conn.execute(
            text("SELECT t.state FROM task_instance t JOIN dag_run r ON r.id = t.run WHERE r.run_id = :r AND t.task_id = 'b'"),
            {"r": third.run.run_id},
        ).scalar()
    )
    assert kept == "removed"


def test_what_was_taken_by_a_branch_is_decided_again(engine, tmp_path):
    way = tmp_path / "way"
    way.write_text("left")
    engine.write(
        "ways.py",
        f"""
        with DAG('ways'):
            BranchPythonOperator('b', lambda: open({str(way)!r}).read()) >> [EmptyOperator('left'), EmptyOperator('right')]
    """,
    )
    detail = engine.run("ways")
    assert engine.states(detail) == {"b": "success", "left": "success", "right": "skipped"}
    way.write_text("right")
    detail = again(engine, "ways", detail.run.run_id)
    assert engine.states(detail) == {"b": "success", "left": "skipped", "right": "success"}


def test_a_clear_that_names_what_is_not_there_says_so(engine):
    engine.write("none.py", "with DAG('none'):\n    EmptyOperator('extract')\n")
    detail = engine.run("none")
    with pytest.raises(NotFound, match=r"no task 'extrakt'.*'extract'"):
        cleared(engine, "none", run_id=detail.run.run_id, tasks=["extrakt"])
    with pytest.raises(Invalid, match="no regular expression"):
        cleared(engine, "none", run_id=detail.run.run_id, task_regex="(")
    with pytest.raises(NotFound, match="matches 'zzz'"):
        cleared(engine, "none", run_id=detail.run.run_id, task_regex="zzz")
    with pytest.raises(Invalid, match="which runs"):
        cleared(engine, "none")
