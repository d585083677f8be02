"""DAG files written for Airflow, read where it isn't installed."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

from dagbook.compat.modules import spoken
from dagbook.compat.names import HOMES
from dagbook.errors import InvalidDag
from dagbook.spec.models import DagSource, DagSpec
from dagbook.testing.inprocess import run_source
from dagbook.worker.load import load_specs


def specs(text: str) -> dict[str, DagSpec]:
    return {s.dag_id: s for s, _ in load_specs(DagSource(dedent(text)))}


def edges(spec: DagSpec) -> set[tuple[str, str]]:
    return {(up, t.task_id) for t in spec.tasks for up in t.upstream}


@pytest.mark.parametrize("module", sorted(HOMES))
def test_every_name_is_found(module):
    with spoken():
        found = __import__(module, fromlist=["*"])
        for name in HOMES[module]:
            assert getattr(found, name) is not None or name == "NullTimetable"
    assert not [m for m in sys.modules if m.split(".")[0] == "airflow"]


def test_the_daily_etl_pipeline_of_the_design_document():
    spec = specs(
        '''
        from datetime import datetime, timedelta
        from airflow.decorators import dag, task
        from airflow.operators.python import PythonOperator
        from airflow.providers.postgres.operators.postgres import PostgresOperator

        @dag(
            dag_id="daily_etl_pipeline",
            schedule="0 6 * * *",          # 6 AM UTC daily
            start_date=datetime(2025, 1, 1),
            catchup=False,
            max_active_runs=1,
            default_args={
                "retries": 2,
                "retry_delay": timedelta(minutes=5),
                "execution_timeout": timedelta(hours=1),
                "pool": "etl_pool",
            },
            tags=["etl", "warehouse"],
        )
        def daily_etl_pipeline():

            @task()
            def extract_orders():
                """Pull today's orders from the source DB."""
                # ... returns a list of order dicts
                return orders

            @task()
            def extract_customers():
                """Pull customer updates."""
                return customers

            @task()
            def transform(orders, customers):
                """Join and clean data."""
                # orders and customers are XCom values from upstream tasks
                return transformed_data

            @task()
            def load(data):
                """Write to warehouse."""
                write_to_warehouse(data)

            # Define dependency graph
            orders = extract_orders()
            customers = extract_customers()
            transformed = transform(orders, customers)
            load(transformed)

        daily_etl_pipeline()
        '''
    )["daily_etl_pipeline"]
    assert edges(spec) == {("extract_orders", "transform"), ("extract_customers", "transform"), ("transform", "load")}
    assert spec.max_active_runs == 1
    assert {t.pool for t in spec.tasks} == {"etl_pool"}
    assert {t.retry.limit for t in spec.tasks} == {2}


def test_the_mapped_pipeline_of_the_design_document():
    spec = specs(
        '''
        from airflow.sdk import dag, task

        @dag(schedule="@daily")
        def process_files():

            @task()
            def list_files() -> list[str]:
                """Returns a list of file paths to process."""
                return s3.list_objects("bucket/incoming/{{ ds }}/")

            @task()
            def process_file(file_path: str) -> dict:
                """Process a single file. Runs once per file."""
                data = read(file_path)
                return transform(data)

            @task()
            def aggregate(results: list[dict]):
                """Aggregate all processed results."""
                combined = merge(results)
                write_to_warehouse(combined)

            files = list_files()
            processed = process_file.expand(file_path=files)  # MAPPED: creates N instances
            aggregate(processed)

        process_files()
        '''
    )["process_files"]
    assert edges(spec) == {("list_files", "process_file"), ("process_file", "aggregate")}


def test_classic_operators_with_options_that_mean_nothing_here():
    spec = specs(
        """
        from datetime import timedelta
        from airflow import DAG
        from airflow.models import Variable
        from airflow.operators.bash import BashOperator
        from airflow.operators.empty import EmptyOperator
        from airflow.operators.python import PythonOperator
        from airflow.utils.dates import days_ago
        from airflow.utils.trigger_rule import TriggerRule

        with DAG("old", schedule_interval="@daily", default_args={"start_date": days_ago(2), "email": ["a@example.org"]},
                 concurrency=3, default_view="graph") as dag:
            a = EmptyOperator(task_id="a", email_on_failure=False)
            b = BashOperator(task_id="b", bash_command="echo {{ ds }}", trigger_rule=TriggerRule.ALL_DONE, sla=timedelta(hours=1))
            b.doc_md = "says the date"
            c = PythonOperator(task_id="c", python_callable=print, dag=dag)
            a >> [b, c]
        """
    )["old"]
    assert spec.schedule.cron == "0 0 * * *"
    assert spec.max_active_tasks == 3
    assert edges(spec) == {("a", "b"), ("a", "c")}
    assert next(t for t in spec.tasks if t.task_id == "b").doc_md == "says the date"


def test_names_without_counterpart_are_listed_with_what_to_use():
    with pytest.raises(InvalidDag) as raised:
        specs(
            """
            from airflow import DAG
            from airflow.providers.postgres.operators.postgres import PostgresOperator
            from airflow.sensors.external_task import ExternalTaskSensor
            with DAG("d"):
                PostgresOperator(task_id="a", sql="select 1")
            """
        )
    said = str(raised.value)
    assert "line 6" in said
    assert "airflow.providers.postgres.operators.postgres.PostgresOperator: call the service's own Python client in a @task" in said
    assert "airflow.sensors.external_task.ExternalTaskSensor: let the other DAG's task announce a dataset" in said


def test_an_option_that_changes_the_meaning_is_refused():
    with pytest.raises(InvalidDag, match="render_template_as_native_obj=True has no counterpart"):
        specs("from airflow import DAG\nDAG('d', render_template_as_native_obj=True)")


def test_passing_data_by_hand_and_by_arguments_as_in_the_design_document():
    run = run_source(
        DagSource(
            dedent(
                """
                from airflow import DAG
                from airflow.decorators import task
                from airflow.operators.python import PythonOperator

                query_source_db = lambda: [3, 1, 2]
                clean = sorted

                def extract_classic(ti, **context):
                    data = query_source_db()
                    ti.xcom_push(key="extracted_data", value=data)

                def transform_classic(ti, **context):
                    data = ti.xcom_pull(task_ids="extract", key="extracted_data")
                    result = clean(data)
                    ti.xcom_push(key="transformed_data", value=result)

                @task()
                def last(ti=None):
                    return ti.xcom_pull(task_ids="transform", key="transformed_data")

                @task()
                def skipped():
                    from airflow.exceptions import AirflowSkipException
                    raise AirflowSkipException("not today")

                with DAG("classic"):
                    extract = PythonOperator(task_id="extract", python_callable=extract_classic)
                    transform = PythonOperator(task_id="transform", python_callable=transform_classic)
                    extract >> transform >> [last(), skipped()]
                """
            )
        )
    )
    assert run["last"] == [1, 2, 3]
    assert run.states()["skipped"] == "skipped"


def test_datasets_as_in_the_design_document():
    found = specs(
        """
        from airflow.datasets import Dataset
        from airflow.decorators import dag, task

        # Producer DAG: declares it updates a dataset
        orders_dataset = Dataset("s3://warehouse/orders/")

        @dag(schedule="@daily")
        def etl_orders():
            @task(outlets=[orders_dataset])  # marks this task as a dataset producer
            def load_orders():
                data = extract_from_source()
                write_to_s3("s3://warehouse/orders/", data)
            load_orders()

        # Consumer DAG: triggered when the dataset is updated
        @dag(schedule=[orders_dataset])  # triggered by dataset update, not cron
        def downstream_analytics():
            @task()
            def build_report():
                data = read_from_s3("s3://warehouse/orders/")
                generate_report(data)
            build_report()

        orders = Dataset("s3://warehouse/orders/")
        customers = Dataset("s3://warehouse/customers/")

        @dag(schedule=[orders, customers])  # both must be updated
        def joined_analytics():
            @task()
            def join(): ...
            join()

        etl_orders(); downstream_analytics(); joined_analytics()
        """
    )
    assert found["etl_orders"].tasks[0].outlets == ("s3://warehouse/orders/",)
    assert found["downstream_analytics"].datasets.name == "s3://warehouse/orders/"
    assert found["joined_analytics"].datasets.kind == "all"


def test_a_time_sensor_waits_for_the_time_of_the_day():
    text = "from datetime import time\nfrom airflow import DAG\nfrom airflow.sensors.time_sensor import TimeSensor\n"
    text += "with DAG('d'):\n    TimeSensor(task_id='a', target_time=time(0), poke_interval=5)\n"
    assert run_source(DagSource(text)).states() == {"a": "success"}
