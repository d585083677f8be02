"""DAGs as their authors write them, and what they are told when something is wrong."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagbook.decide.admit import Candidate, Capacity, admit
from dagbook.decide.expand import Refused, expansion_count, positions
from dagbook.decide.finish import delay, on_failure
from dagbook.decide.snapshot import TaskKey
from dagbook.errors import Invalid, InvalidDag
from dagbook.spec import codec
from dagbook.spec.models import DagSource, Expansion, MapSource, ParamSpec, RetryPolicy, Segment
from dagbook.spec.params import fill
from dagbook.states import FINISHED, MOVES, TaskState
from dagbook.worker.load import load_specs

HEAD = "from datetime import datetime, timedelta\nfrom dagbook import *\n"


def spec(body: str):
    return load_specs(DagSource(HEAD + textwrap.dedent(body), path="/dags/x.py"))[0][0]


def faults(body: str) -> list[str]:
    with pytest.raises(InvalidDag) as caught:
        spec(body)
    return [str(f) for f in caught.value.faults]


def edges(body: str) -> set[tuple[str, str]]:
    return {(u, t.task_id) for t in spec("with DAG('d'):\n" + textwrap.indent(textwrap.dedent(body), "    ")).tasks for u in t.upstream}


NAMES = "a, b, c, d = (EmptyOperator(x) for x in 'abcd')\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a >> b >> c", {"ab", "bc"}),
        ("c << b << a", {"ab", "bc"}),
        ("a >> [b, c] >> d", {"ab", "ac", "bd", "cd"}),
        ("[a, b] >> c", {"ac", "bc"}),
        ("a.set_downstream([b, c])", {"ab", "ac"}),
        ("d.set_upstream(a)", {"ad"}),
        ("chain(a, [b, c], d)", {"ab", "ac", "bd", "cd"}),
        ("chain([a, b], [c, d])", {"ac", "bd"}),
        ("cross_downstream([a, b], [c, d])", {"ac", "ad", "bc", "bd"}),
    ],
)
def test_edges(body, expected):
    assert edges(NAMES + body) == {(e[0], e[1]) for e in expected}


def test_results_make_edges_wherever_they_hide():
    body = """
    @task
    def one(): return 1
    @task
    def two(x): return x
    two({"deep": [one()["key"], 2]})
    BashOperator("three", "echo", env={"X": one()})
    """
    assert edges(body) == {("one", "two"), ("one__1", "three")}


def test_tasks_come_in_topological_order():
    found = spec("with DAG('d'):\n    a, b, c = (EmptyOperator(x) for x in 'abc')\n    c >> b >> a")
    assert [t.task_id for t in found.tasks] == ["c", "b", "a"]


def test_defaults_reach_tasks_and_are_overridden():
    found = spec("with DAG('d', default_args={'retries': 3, 'pool': 'p'}):\n    EmptyOperator('a')\n    EmptyOperator('b', retries=1)")
    assert [(t.retry.limit, t.pool) for t in found.tasks] == [(3, "p"), (1, "p")]


def test_mapping_is_frozen_with_its_sources():
    found = spec("""
    with DAG('d'):
        @task
        def n(): return [1]
        @task
        def m(x, y): return x
        m.expand(x=n(), y=[1, 2, 3])
    """)
    assert found.task("m").expansion == Expansion("product", (MapSource("x", task_id="n"), MapSource("y", length=3)))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "with DAG('d'):\n    EmptyOperator('a')\n    EmptyOperator('a')",
            "/dags/x.py, line 5: task id 'a' is taken already, at /dags/x.py, line 4",
        ),
        ("with DAG('d', schedule='@once'):\n    EmptyOperator('a')", "has schedule '@once' but no start_date to begin at"),
        ("with DAG('d', schedule='@daily', catchup=True):\n    EmptyOperator('a')", "has catchup but no start_date to begin at"),
        ("with DAG('d', schedule='61 * * * *'):\n    EmptyOperator('a')", "is no 5-field cron"),
        ("with DAG('d', schedule='0 0 31 2 *'):\n    EmptyOperator('a')", "never matches any date"),
        ("with DAG('d', timezone='Mars/X'):\n    EmptyOperator('a')", "timezone 'Mars/X' is not known"),
        ("with DAG('d'):\n    EmptyOperator('a', retrys=1)", "did you mean 'retries'"),
        ("with DAG('d'):\n    EmptyOperator('a', trigger_rule='al_done')", "trigger_rule 'al_done' is none of"),
        ("with DAG('../d'):\n    EmptyOperator('a')", "DAG id '../d' is not allowed"),
        ("with DAG('d'):\n    a, b, c = (EmptyOperator(x) for x in 'abc')\n    a >> b >> c >> a", "cycle: a → b → c → a"),
        ("with DAG('d'):\n    @task\n    def f(x): ...\n    f.expand(x=3)", "maps over a list, a dict or an upstream result, not int"),
        ("with DAG('d'):\n    @task\n    def f(x): ...\n    for i in f(1): pass", "can't be looped over"),
        (
            "with DAG('d'):\n    BashOperator('a', bash_command='one\\n{{ ds }')",
            "task 'a': the template 'one' doesn't parse, line 2: unexpected '}'",
        ),
        ("with DAG('d'):\n    EmptyOperator('a', map_index_template='{% if %}')", "the template '{% if %}' doesn't parse, line 1"),
        (
            "with DAG('d', params={'n': Param(5, type='integer', maximum=3)}):\n    EmptyOperator('a')",
            "param 'n': 5 is greater than the maximum of 3 (its default)",
        ),
        ("with DAG('d', params={'n': Param(5, type='int')}):\n    EmptyOperator('a')", "param 'n': type: 'int' is not valid"),
        (
            "with DAG('d', params={'n': object()}):\n    EmptyOperator('a')",
            "param 'n' has a object for its default, which JSON can't carry",
        ),
        (
            "with DAG('d', schedule='@daily', start_date=datetime(2025, 1, 1), params={'n': Param(type='integer')}):\n    EmptyOperator('a')",
            "param 'n' needs a default, since nobody gives one to the runs of the schedule",
        ),
        ("@task\ndef f(): ...\nf()", "outside a DAG"),
        ("with DAG('d'):\n    EmptyOperator('a')\nwith DAG('d'):\n    EmptyOperator('a')", "two DAGs have the id 'd'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(body, words):
    said = faults(body)
    assert words in said[0]
    assert "/dags/x.py, line" in said[0]


PARAMS = (
    ParamSpec("n", 1, schema={"type": "integer", "minimum": 0}),
    ParamSpec("day", "2025-01-01", schema={"type": "string", "format": "date"}),
    ParamSpec("must", schema={"type": "string"}),
    ParamSpec("free"),
)


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ({"must": "x", "m": 1}, "DAG 'd' has no param 'm'"),
        ({}, "param 'must' has no default; give it: --param must=VALUE"),
        ({"must": "x", "n": -1}, "param 'n': -1 is less than the minimum of 0"),
        ({"must": "x", "n": "1"}, "param 'n': '1' is not of type 'integer'"),
        ({"must": "x", "day": "tomorrow"}, "param 'day': 'tomorrow' is not a 'date'"),
        ({"must": 1, "n": -1}, "param 'n': -1 is less than the minimum of 0; param 'must': 1 is not of type 'string'"),
    ],
)
def test_a_runs_params_fit_their_schemas(conf, words):
    with pytest.raises(Invalid) as refused:
        fill("d", PARAMS, conf)
    assert words in str(refused.value)


def test_params_that_are_not_given_have_their_defaults():
    assert fill("d", PARAMS, {"must": "x", "free": [1]}) == {"n": 1, "day": "2025-01-01", "must": "x", "free": [1]}


def test_a_dag_without_params_takes_any_conf():
    assert fill("d", (), {"anything": 1}) == {}


def test_all_faults_are_said_at_once():
    assert len(faults("with DAG('d', schedule='x', timezone='y'):\n    EmptyOperator('a', retries=-1)")) == 3


def test_a_spec_comes_back_from_its_text_and_its_version_follows_structure_and_source():
    one = spec("with DAG('d', schedule=timedelta(hours=1), start_date=datetime(2025, 1, 1)):\n    EmptyOperator('a')")
    assert codec.decode(codec.encode(one)) == one
    assert codec.digest(one, DagSource("x")) == codec.digest(one, DagSource("x", (Segment(1, 1, "Cell [1]", 1),)))
    assert codec.digest(one, DagSource("x")) != codec.digest(one, DagSource("y"))
    with pytest.raises(msgspec.ValidationError, match="format 99"):
        codec.decode(codec.encode(one).replace(b'"format":1', b'"format":99'))


@pytest.mark.parametrize("state", sorted(FINISHED))
def test_whatever_is_finished_can_be_cleared(state):
    assert MOVES[state] == {TaskState.NONE}


# Expansion, retries, admission ----------------------------------------------------------------


def mapped(*sources: MapSource) -> Expansion:
    return Expansion("product", sources)


def test_instances_are_the_product_of_the_lengths():
    task = mapped(MapSource("x", length=3), MapSource("y", task_id="n"))
    assert expansion_count(task, {("n", "return_value", ()): 4}, 100) == 12
    assert expansion_count(task, {("n", "return_value", ()): 0}, 100) == 0


@pytest.mark.parametrize(("length", "words"), [(None, "it is no list or dict"), (1000, "3000 elements to map over; the limit is 100")])
def test_what_cant_be_mapped_over_is_refused(length, words):
    found = expansion_count(mapped(MapSource("x", length=3), MapSource("y", task_id="n")), {("n", "return_value", ()): length}, 100)
    assert isinstance(found, Refused)
    assert words in found.reason


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_every_combination_is_taken_once(sizes):
    names = [f"a{i}" for i in range(len(sizes))]
    total = 1
    for s in sizes:
        total *= s
    found = {tuple(positions(dict(zip(names, sizes, strict=True)), i).values()) for i in range(total)}
    assert len(found) == total


NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("tried", "allowed", "retryable", "state"),
    [
        (1, 3, True, "up_for_retry"),
        (3, 3, True, "failed"),
        (1, 3, False, "failed"),
        (1, 1, True, "failed"),
    ],
)
def test_a_failed_try_is_retried_while_tries_are_left(tried, allowed, retryable, state):
    to, when = on_failure(RetryPolicy(2, timedelta(minutes=5)), tried, allowed, NOW, retryable=retryable, jitter=0.5)
    assert to == state
    assert when == (NOW + timedelta(minutes=5) if state == "up_for_retry" else None)


@given(st.integers(1, 10_000), st.floats(0, 0.999))
def test_backoff_never_exceeds_its_limit(tried, jitter):
    policy = RetryPolicy(9, timedelta(seconds=10), exponential=True, max_delay=timedelta(minutes=3))
    assert timedelta(0) <= delay(policy, tried, jitter) <= timedelta(minutes=3)


@given(
    st.lists(st.tuples(st.sampled_from("pq"), st.integers(1, 3), st.sampled_from("de")), max_size=30),
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(0, 6),
)
def test_admission_never_gives_more_than_there_is(wanted, pool, dag, executor):
    candidates = [Candidate(TaskKey(1, f"t{i}"), d, p, slots) for i, (p, slots, d) in enumerate(wanted)]
    free = Capacity({"p": pool, "q": pool}, {"p": 9, "q": 9}, {"d": dag, "e": dag}, executor)
    taken = admit(candidates, free).admitted
    chosen = [c for c in candidates if c.key in {getattr(t, "key", t) for t in taken}]
    assert len(chosen) <= executor
    for name in "pq":
        assert sum(c.slots for c in chosen if c.pool == name) <= pool
    for name in "de":
        assert sum(1 for c in chosen if c.dag_id == name) <= dag
