"""What Airflow says differently: the same thing under its arguments."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any

from dagbook.authoring import builder, operators, schedules, sensors, timetables
from dagbook.errors import DagbookError

_RENAMED = {
    "schedule_interval": "schedule",
    "timetable": "schedule",
    "concurrency": "max_active_tasks",
    "fail_stop": "fail_fast",
}
#: About Airflow's own pages and process; a DAG means the same without them.
_UNUSED = {
    "access_control",
    "auto_register",
    "dag_display_name",
    "default_view",
    "disable_bundle_versioning",
    "full_filepath",
    "is_paused_upon_creation",
    "orientation",
    "owner_links",
}
#: These change what a DAG means, so they can't be passed over.
_REFUSED = {
    "jinja_environment_kwargs": "give user_defined_filters and user_defined_macros",
    "max_consecutive_failed_dag_runs": "pause the DAG in its on_failure_callback's alert",
    "render_template_as_native_obj": "give the value itself, or the result of another task, instead of a template",
    "sla_miss_callback": "give deadline=DeadlineAlert(...)",
    "template_searchpath": "read the file in Python and give its text",
}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    for name, hint in _REFUSED.items():
        if given.get(name):
            raise TypeError(f"DAG option {name}={given[name]!r} has no counterpart in Dagbook; {hint}")
    left = {k: v for k, v in given.items() if k not in _UNUSED and k not in _REFUSED}
    return {_RENAMED.get(k, k): v for k, v in left.items() if v is not None or k not in _RENAMED}


class DAG(builder.DAG):
    """``dagbook.DAG`` with all that Airflow's takes."""

    def __init__(self, dag_id: str, description: str | None = None, schedule: Any = None, **options: Any):
        super().__init__(dag_id, **{"description": description, "schedule": schedule, **_options(options)})


def dag(dag_id: str | Callable[..., Any] = "", **options: Any) -> Any:
    """``@dag``, ``@dag(...)``, and ``@dag("id", ...)``."""
    if callable(dag_id):
        return builder.dag(dag_id)
    return builder.dag(**({"dag_id": dag_id} if dag_id else {}), **_options(options))


class BashOperator(operators.BashOperator):
    """Airflow's environment: ``env`` is all of it, unless ``append_env``."""

    def __init__(self, task_id: str, bash_command: str, env: Any = None, append_env: bool = False, **options: Any):
        super().__init__(task_id, bash_command, env, append_env=append_env or not env, **options)


class DateTimeSensor(sensors.DateTimeSensor):
    """It always leaves its worker while it waits, so how to look is taken and not needed."""

    def __init__(self, task_id: str, target_time: Any, **options: Any):
        super().__init__(task_id, target_time, **_without_looks(options))


class TimeDeltaSensor(sensors.TimeDeltaSensor):
    """It always leaves its worker while it waits, so how to look is taken and not needed."""

    def __init__(self, task_id: str, delta: timedelta, **options: Any):
        super().__init__(task_id, delta, **_without_looks(options))


def _without_looks(options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k not in sensors.SENSOR_OPTIONS}


class WeekDay(IntEnum):
    """Days of the week as ISO counts them."""

    MONDAY = 1
    TUESDAY = 2
    WEDNESDAY = 3
    THURSDAY = 4
    FRIDAY = 5
    SATURDAY = 6
    SUNDAY = 7


class BaseHook:
    """Where operators for the outside look up how to reach it."""

    @classmethod
    def get_connection(cls, conn_id: str) -> Any:
        return importlib.import_module("dagbook.worker.secrets").Connection.get(conn_id)


def delta_interval(delta: timedelta) -> timedelta:
    """``DeltaDataIntervalTimetable``."""
    return delta


def cron_interval(cron: str, timezone: Any = "UTC") -> schedules.CronInterval:
    """``CronDataIntervalTimetable``."""
    return schedules.CronInterval(cron, timezone=timezone)


def cron_trigger(cron: str, *, timezone: Any = "UTC", interval: timedelta | None = None) -> schedules.CronTriggerTimetable:
    """``CronTriggerTimetable``: at the ticks of a cron."""
    return schedules.CronTriggerTimetable(cron, timezone=timezone, interval=interval or timedelta(0))


def either(timetable: Any = None, datasets: Any = None, assets: Any = None) -> timetables.DatasetOrTime:
    """``DatasetOrTimeSchedule(timetable=, datasets=)`` and ``AssetOrTimeSchedule(timetable=, assets=)``."""
    return timetables.DatasetOrTime(timetable, assets if assets is not None else datasets)


def once() -> str:
    return "@once"


def continuous() -> str:
    return "@continuous"


def no_schedule() -> None:
    return None


def days_ago(n: int, hour: int = 0, minute: int = 0, second: int = 0, microsecond: int = 0) -> datetime:
    today = datetime.now(UTC).replace(hour=hour, minute=minute, second=second, microsecond=microsecond)
    return today - timedelta(days=n)


def aware(*parts: int, tzinfo: Any = UTC, **more: int) -> datetime:
    """``airflow.utils.timezone.datetime``: in UTC unless it is said otherwise."""
    return datetime(*parts, **more).replace(tzinfo=tzinfo)  # type: ignore[arg-type]


def utcnow() -> datetime:
    return datetime.now(UTC)


def parse_time(text: str, timezone: Any = UTC) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=timezone)


def make_aware(value: datetime, timezone: Any = UTC) -> datetime:
    return value.replace(tzinfo=timezone)


def apply_defaults(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of Airflow 1: default arguments need no decorator any more."""
    return function


class AirflowException(DagbookError):
    """What Airflow's code raises for any fault."""


class AirflowTaskTimeout(AirflowException):
    """For code that raises or catches it by this name."""
