"""Dynamic mapping on the engine as it runs: what can be mapped over, mapped groups, reducers, limits."""

from __future__ import annotations

from collections import Counter

import pytest
from engines import running_engine


def instances(engine, detail, task_id):
    """State by map index."""
    with engine.opened.store.begin() as work:
        rows = work.conn.exec_driver_sql(
            "select ti.map_index, ti.state from task_instance ti join dag_run r on r.id = ti.run "
            "where r.dag_id = %s and r.run_id = %s and ti.task_id = %s order by 1",
            (detail.run.dag_id, detail.run.run_id, task_id),
        )
        return {r.map_index: r.state for r in rows}


def test_dicts_keys_of_results_and_functions_over_elements_can_be_mapped_over(engine):
    engine.write(
        "shapes.py",
        """
        with DAG('shapes'):
            @task
            def p(): return {"a": 1, "b": 2, "list": [1, 2, 3]}
            @task
            def m(x): return x
            @task
            def gather(xs): return list(xs)
            gather = gather.override(trigger_rule='none_failed')
            made = p()
            g = lambda name, xs: gather.override(task_id=name)(xs)
            g('pairs', m.override(task_id='m').expand(x=made))
            g('part', m.override(task_id='n').expand(x=made["list"]))
            def double(n):
                if n == 2: raise SkipTask('two')
                return n * 2
            g('mapped', m.override(task_id='d').expand(x=made["list"].map(double)))
            g('zipped', m.override(task_id='z').expand(x=made["list"].zip(["x", "y"])))
            g('filled', m.override(task_id='f').expand(x=made["list"].zip(["x", "y"], fillvalue="-")))
            g('joined', m.override(task_id='c').expand(x=made["list"].concat([7, 8])))
            g('literal', m.override(task_id='l').expand(x={"k": "v"}))
    """,
    )
    detail = engine.run("shapes")
    results = {n: engine.result(detail, n) for n in ("pairs", "part", "mapped", "zipped", "filled", "joined", "literal")}
    assert results == {
        "pairs": [("a", 1), ("b", 2), ("list", [1, 2, 3])],
        "part": [1, 2, 3],
        "mapped": [2, 6],
        "zipped": [(1, "x"), (2, "y")],
        "filled": [(1, "x"), (2, "y"), (3, "-")],
        "joined": [1, 2, 3, 7, 8],
        "literal": [("k", "v")],
    }
    assert instances(engine, detail, "d") == {0: "success", 1: "skipped", 2: "success"}
    assert detail.run.state == "success"


@pytest.mark.parametrize(("value", "word"), [('"abc"', "str"), ("5", "int"), ("{1, 2}", "set"), ("b'ab'", "bytes"), ("None", "NoneType")])
def test_what_cant_be_mapped_over_fails_its_producer_with_the_type(engine, value, word):
    name = "unmappable_" + "".join(c for c in word if c.isalnum())
    engine.write(
        f"{name}.py",
        f"""
        with DAG('{name}'):
            @task(retries=2)
            def p(): return {value}
            @task
            def m(x): return x
            m.expand(x=p())
    """,
    )
    detail = engine.run(name)
    assert engine.states(detail) == {"p": "failed", "m": "upstream_failed"}
    producer = next(t for t in detail.tasks if t.task_id == "p")
    assert word in producer.reason
    assert "'m'" in producer.reason
    assert producer.try_number == 1


def test_chains_of_empty_expansions_end_in_success_every_time(engine):
    engine.write(
        "empties.py",
        """
        with DAG('empties', max_active_runs=60):
            @task
            def m(x): return x
            @task
            def none(): return []
            @task_group
            def g(x):
                EmptyOperator('inner') >> m.override(task_id='in2')(x)
            m1 = m.override(task_id='m1').expand(x=[])
            m2 = m.override(task_id='m2').expand(x=m1)
            m3 = m.override(task_id='m3').expand(x=m2)
            EmptyOperator('hi') >> EmptyOperator('bye') >> m1
            m3 >> [EmptyOperator('then'), EmptyOperator('always', trigger_rule='all_done')]
            q = m.override(task_id='q').expand(x=none())
            g.expand(x=none.override(task_id='none2')())
    """,
    )
    started = [engine.start("empties") for _ in range(12)]
    ended = [engine.finished("empties", r) for r in started]
    assert Counter(d.run.state for d in ended) == {"success": 12}
    states = engine.states(ended[-1])
    skipped = {"m1", "m2", "m3", "q", "then", "g.inner", "g.in2"}
    assert {t for t, s in states.items() if s == "skipped"} == skipped
    assert instances(engine, ended[-1], "m1") == {-1: "skipped"}


def test_a_map_over_a_map_is_in_order_and_leaves_out_what_was_skipped(engine):
    engine.write(
        "maps2.py",
        """
        with DAG('maps2'):
            @task
            def a(n):
                if n == 5: raise SkipTask('five')
                return n + 1
            @task
            def b(x): return x * 10
            @task
            def s(xs): return list(xs)
            @task
            def nested(n): return [n, n]
            s(b.expand(x=a.expand(n=[1, 2, 3])))
            s.override(task_id='s2', trigger_rule='none_failed')(b.override(task_id='b2', trigger_rule='none_failed').expand(x=a.override(task_id='a2').expand(n=[1, 5, 3])))
            s.override(task_id='s3')(s.override(task_id='same').expand(xs=nested.expand(n=[1, 2])))
    """,
    )
    detail = engine.run("maps2")
    assert [engine.result(detail, t) for t in ("s", "s2", "s3")] == [[20, 30, 40], [20, 40], [[1, 1], [2, 2]]]


def test_a_branch_inside_a_mapped_group_is_each_index_s_own(engine):
    engine.write(
        "groupbranch.py",
        """
        import random, time
        with DAG('groupbranch'):
            @task_group
            def each(kind):
                @task.branch
                def branch(kind):
                    time.sleep(random.random() / 10)
                    return 'each.optional' if kind == 'full' else 'each.join'
                @task
                def optional(kind): return kind
                @task(trigger_rule='none_failed_min_one_success')
                def join(): time.sleep(random.random() / 10)
                b, o, j = branch(kind), optional(kind), join()
                b >> [o, j]
                o >> j
            each.expand(kind=['full', 'partial', 'full'])
    """,
    )
    for run in [engine.start("groupbranch") for _ in range(4)]:
        detail = engine.finished("groupbranch", run)
        assert detail.run.state == "success"
        assert instances(engine, detail, "each.optional") == {0: "success", 1: "skipped", 2: "success"}
        assert instances(engine, detail, "each.join") == {0: "success", 1: "success", 2: "success"}


def test_a_mapped_group_goes_on_index_by_index_and_fails_index_by_index(engine, tmp_path):
    engine.write(
        "groupindex.py",
        f"""
        import time
        from pathlib import Path
        with DAG('groupindex'):
            @task
            def items(): return [0, 1, 2]
            @task_group
            def each(n, base):
                @task
                def first(n):
                    if n == 1: raise ValueError('one')
                    if n == 2:
                        for _ in range(600):
                            if Path({str(tmp_path)!r}, 'second-0').exists(): return n
                            time.sleep(0.05)
                        raise TimeoutError
                    return n
                @task
                def second(x, base):
                    Path({str(tmp_path)!r}, f'second-{{x}}').touch()
                    return x + base
                return second(first(n), base)
            @task(trigger_rule='all_done')
            def total(xs): return list(xs)
            total(each.partial(base=100).expand(n=items()))
    """,
    )
    detail = engine.run("groupindex")
    assert instances(engine, detail, "each.first") == {0: "success", 1: "failed", 2: "success"}
    assert instances(engine, detail, "each.second") == {0: "success", 1: "upstream_failed", 2: "success"}
    assert engine.result(detail, "total") == [100, 102]


def test_a_name_for_each_instance_is_made_by_its_template(engine):
    engine.write(
        "names.py",
        """
        with DAG('names'):
            @task(map_index_template='{{ city }}')
            def load(name):
                get_current_context()['city'] = name.upper()
            load.expand(name=['rome', 'oslo'])
            BashOperator.partial(task_id='b', map_index_template='{{ task.bash_command }}').expand(bash_command=['echo 1', 'echo 2'])
    """,
    )
    detail = engine.run("names")
    with engine.opened.store.begin() as work:
        rows = work.conn.exec_driver_sql(
            "select task_id, map_index, label from task_instance ti join dag_run r on r.id = ti.run where r.run_id = %s order by 1, 2",
            (detail.run.run_id,),
        ).all()
    assert [tuple(r) for r in rows] == [("b", 0, "echo 1"), ("b", 1, "echo 2"), ("load", 0, "ROME"), ("load", 1, "OSLO")]


def test_too_many_elements_fail_the_mapped_task_with_both_numbers_and_leave_no_rows(tmp_path):
    with running_engine(tmp_path, max_map_length=20) as engine:
        engine.write(
            "many.py",
            """
            with DAG('many'):
                @task
                def p(n): return list(range(n))
                @task
                def m(x): return x
                m.expand(x=p(21))
                m.override(task_id='fits').expand(x=p.override(task_id='r')(20))
        """,
        )
        detail = engine.run("many")
        states = engine.states(detail)
        assert (states["m"], states["fits"]) == ("failed", "success")
        reason = next(t.reason for t in detail.tasks if t.task_id == "m")
        assert "21" in reason
        assert "20" in reason
        assert instances(engine, detail, "m") == {-1: "failed"}


def test_several_results_under_their_own_keys(engine):
    engine.write(
        "outputs.py",
        """
        with DAG('outputs'):
            @task(multiple_outputs=True)
            def p(): return {'a': [1, 2], 'b': 3}
            @task
            def use(a, b, ti): return [a, b, ti.xcom_pull('p', key='b'), ti.xcom_pull('p', key='none', default='d')]
            made = p()
            use(made['a'], made['b'])
    """,
    )
    assert engine.result(engine.run("outputs"), "use") == [[1, 2], 3, 3, "d"]
