"""``dag.test()``: one run in this process, by the engine's own decisions."""

from datetime import UTC, datetime, timedelta

import pytest

from dagbook import DAG, DateTimeSensor, EmptyOperator, get_current_context, task
from dagbook.errors import FailTask, Invalid, InvalidDag, NotFound, RescheduleTask, SkipTask
from dagbook.spec.models import DagSource
from dagbook.testing import run_source, test_run

DAY = datetime(2025, 3, 1, tzinfo=UTC)


def test_results_come_back_by_task_and_in_map_order():
    with DAG("sums") as dag:

        @task
        def numbers():
            return [1, 2, 3]

        @task
        def square(x):
            return x * x

        @task
        def total(xs):
            return sum(xs)

        total(square.expand(x=numbers()))
    run = dag.test()
    assert run.state == "success"
    assert run["square"] == [1, 4, 9]
    assert run["total"] == 14
    assert run.states()["square[2]"] == "success"


def test_a_branch_skips_what_it_did_not_take():
    with DAG("branches") as dag:

        @task.branch
        def choose():
            return "left"

        @task
        def left(): ...

        @task
        def right(): ...

        choose() >> [left(), right()]
    assert dag.test().states() == {"choose": "success", "left": "success", "right": "skipped"}


def test_retries_come_at_once_and_the_last_error_is_kept(capsys):
    tried = []
    with DAG("flaky") as dag:

        @task(retries=2, retry_delay=timedelta(hours=1))
        def flaky():
            tried.append(get_current_context()["ti"].try_number)
            raise ValueError("no luck")

        @task
        def after(): ...

        flaky() >> after()
    run = dag.test()
    assert tried == [1, 2, 3]
    assert run.states() == {"flaky": "failed", "after": "upstream_failed"}
    assert isinstance(run.error, ValueError)
    assert "no luck" in capsys.readouterr().err


@pytest.mark.parametrize(("raised", "state"), [(FailTask("enough"), "failed"), (SkipTask("not today"), "skipped")])
def test_a_task_that_gives_up_is_not_tried_again(raised, state):
    tried = []
    with DAG("gives_up") as dag:

        @task(retries=3)
        def once():
            tried.append(1)
            raise raised

        once()
    run = dag.test()
    assert run.states() == {"once": state}
    assert str(raised) in str(next(iter(run)))
    assert tried == [1]


def test_a_task_that_asks_for_later_is_called_again_then():
    times = []
    with DAG("later") as dag:

        @task
        def wait():
            times.append(datetime.now(UTC))
            if len(times) == 1:
                raise RescheduleTask(datetime.now(UTC) + timedelta(seconds=0.2))

        wait()
    assert dag.test().state == "success"
    assert times[1] - times[0] >= timedelta(seconds=0.2)


def test_a_deferred_sensor_waits_for_its_trigger():
    with DAG("defers") as dag:
        DateTimeSensor("until", target_time=datetime.now(UTC) + timedelta(seconds=0.3))
    assert dag.test().state == "success"


def test_callbacks_are_called_and_what_they_raise_changes_nothing(capsys):
    called = []

    def broken(context):
        raise RuntimeError("in the callback")

    with DAG("calls", on_success_callback=lambda c: called.append("dag")) as dag:

        @task(on_success_callback=[lambda c: called.append(c["ti"].task_id), broken])
        def one(): ...

        one()
    assert dag.test().state == "success"
    assert called == ["one", "dag"]
    assert "in the callback" in capsys.readouterr().err


def test_variables_and_connections_are_those_that_were_given():
    with DAG("vars") as dag:

        @task
        def read(text):
            return text

        read("{{ var.value.city }} {{ conn.shop.host }} {{ conn.shop.password }}")
    run = dag.test(variables={"city": "Rome"}, connections={"shop": "postgres://u:p%40ss@db:5432/x"})
    assert run["read"] == "Rome db p@ss"


def test_a_logical_date_has_its_interval_and_templates_see_it():
    with DAG("daily", schedule="@daily", start_date=DAY) as dag:

        @task
        def day(text):
            return text

        day("{{ ds }} {{ data_interval_end | ds }}")
    assert dag.test(logical_date=DAY)["day"] == "2025-03-01 2025-03-02"


def test_params_come_from_conf_and_must_fit():
    with DAG("with_params", params={"n": 1}) as dag:

        @task
        def n(params=None):
            return params["n"]

        n()
    assert dag.test(conf={"n": 5})["n"] == 5
    with pytest.raises(Invalid, match="has no param 'm'"):
        dag.test(conf={"m": 5})


def test_an_unknown_task_is_named_with_the_nearest():
    with DAG("small") as dag:

        @task
        def extract(): ...

        extract()
    run = dag.test()
    assert run["extract"] is None
    with pytest.raises(NotFound, match=r"'extrct'.*extract"):
        run["extrct"]


def test_a_date_without_a_timezone_is_refused():
    with DAG("naive") as dag:
        EmptyOperator("one")
    with pytest.raises(Invalid, match="no timezone"):
        dag.test(logical_date=datetime(2025, 1, 1))


def test_a_wrong_dag_does_not_run():
    with DAG("wrong") as dag:

        @task(trigger_rule="all_sucess")
        def one(): ...

        one()
    with pytest.raises(InvalidDag, match="all_success"):
        test_run(dag)


def test_a_modules_text_needs_a_name_where_it_has_two_dags():
    text = "from dagbook import DAG, EmptyOperator\nfor n in 'ab':\n    with DAG(n):\n        EmptyOperator('one')\n"
    assert run_source(DagSource(text), "a").state == "success"
    with pytest.raises(Invalid, match="2 DAGs; name one: a, b"):
        run_source(DagSource(text))
    with pytest.raises(NotFound, match="no DAG 'c'"):
        run_source(DagSource(text), "c")
