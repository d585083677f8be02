"""Which of Dagbook's things each of Airflow's names means, and what to use where there is none."""

from __future__ import annotations

from collections.abc import Iterable

_WORDS = "dagbook.compat.words"
_STANDARD = "dagbook.compat.standard"

#: Airflow's name → where it is here.
_MEANING: dict[str, str] = {
    **dict.fromkeys(("DAG", "dag", "BashOperator", "DateTimeSensor", "TimeDeltaSensor", "WeekDay", "BaseHook", "apply_defaults"), _WORDS),
    **dict.fromkeys(("AirflowException", "AirflowTaskTimeout", "days_ago", "utcnow", "make_aware"), _WORDS),
    **dict.fromkeys(("FileSensor", "BashSensor", "TimeSensor", "DayOfWeekSensor"), _STANDARD),
    **dict.fromkeys(("BranchDayOfWeekOperator", "BranchDateTimeOperator"), _STANDARD),
    **dict.fromkeys(("Label", "chain", "chain_linear", "cross_downstream", "XComArg", "Param", "TaskGroup", "task_group"), "dagbook"),
    **dict.fromkeys(("task", "setup", "teardown", "BaseOperator", "EmptyOperator", "PythonOperator", "get_current_context"), "dagbook"),
    **dict.fromkeys(("BaseBranchOperator", "BranchPythonOperator", "ShortCircuitOperator", "LatestOnlyOperator"), "dagbook"),
    **dict.fromkeys(("BaseSensorOperator", "PythonSensor", "PokeReturnValue", "TriggerRule", "Dataset", "DatasetAlias"), "dagbook"),
    **dict.fromkeys(("DatasetAll", "DatasetAny", "EventsTimetable", "MultipleCronTriggerTimetable", "DataInterval"), "dagbook"),
    **dict.fromkeys(("DagRunInfo", "TimeRestriction", "Timetable"), "dagbook"),
    **dict.fromkeys(("Variable", "Connection"), "dagbook.worker.secrets"),
    **dict.fromkeys(("Context", "TaskInstance"), "dagbook.worker.context"),
    "Asset": "dagbook:Dataset",
    "AssetAlias": "dagbook:DatasetAlias",
    "AssetAll": "dagbook:DatasetAll",
    "AssetAny": "dagbook:DatasetAny",
    "DummyOperator": "dagbook:EmptyOperator",
    "RuntimeTaskInstanceProtocol": "dagbook.worker.context:TaskInstance",
    "DateTimeSensorAsync": f"{_WORDS}:DateTimeSensor",
    "TimeDeltaSensorAsync": f"{_WORDS}:TimeDeltaSensor",
    "TimeSensorAsync": f"{_STANDARD}:TimeSensor",
    "CronDataIntervalTimetable": f"{_WORDS}:cron_interval",
    "CronTriggerTimetable": f"{_WORDS}:cron_trigger",
    "DeltaDataIntervalTimetable": f"{_WORDS}:delta_interval",
    "DatasetOrTimeSchedule": f"{_WORDS}:either",
    "AssetOrTimeSchedule": f"{_WORDS}:either",
    "OnceTimetable": f"{_WORDS}:once",
    "ContinuousTimetable": f"{_WORDS}:continuous",
    "NullTimetable": f"{_WORDS}:no_schedule",
    "AirflowFailException": "dagbook.errors:FailTask",
    "AirflowSkipException": "dagbook.errors:SkipTask",
    "AirflowRescheduleException": "dagbook.errors:RescheduleTask",
    "AirflowSensorTimeout": "dagbook.errors:SensorTimeout",
    "AirflowNotFoundException": "dagbook.errors:NotFound",
    "TaskDeferred": "dagbook.errors:TaskDeferred",
    "State": "dagbook.states:TaskState",
    "TaskInstanceState": "dagbook.states:TaskState",
    "DagRunState": "dagbook.states:RunState",
    "DagRunType": "dagbook.states:RunType",
    "datetime": f"{_WORDS}:aware",
    "parse": f"{_WORDS}:parse_time",
    "utc": "datetime:UTC",
    "__version__": "dagbook:__version__",
}

_PYTHON = "PythonOperator BranchPythonOperator ShortCircuitOperator get_current_context"
_BASICS = "DAG dag task task_group setup teardown TaskGroup XComArg Param BaseOperator Label chain chain_linear cross_downstream"
_ASSETS = "Asset AssetAlias AssetAll AssetAny Dataset DatasetAlias DatasetAll DatasetAny"
_TABLES = (
    "CronDataIntervalTimetable CronTriggerTimetable DeltaDataIntervalTimetable EventsTimetable MultipleCronTriggerTimetable "
    "AssetOrTimeSchedule DatasetOrTimeSchedule"
)
_EXCEPTIONS = (
    "AirflowException AirflowFailException AirflowSkipException AirflowRescheduleException AirflowSensorTimeout AirflowTaskTimeout "
    "AirflowNotFoundException TaskDeferred"
)
#: Module → its names that have a meaning here.
_MODULES: dict[str, str] = {
    "airflow": "DAG Dataset __version__",
    "airflow.sdk": f"{_BASICS} {_ASSETS} {_TABLES} Variable Connection Context BaseHook BaseSensorOperator PokeReturnValue TriggerRule "
    "TaskInstanceState DagRunState WeekDay get_current_context",
    "airflow.sdk.bases.operator": "BaseOperator chain chain_linear cross_downstream",
    "airflow.sdk.bases.sensor": "BaseSensorOperator PokeReturnValue",
    "airflow.sdk.bases.hook": "BaseHook",
    "airflow.sdk.definitions.asset": _ASSETS,
    "airflow.sdk.definitions.param": "Param",
    "airflow.sdk.definitions.context": "Context get_current_context",
    "airflow.sdk.exceptions": _EXCEPTIONS,
    "airflow.sdk.types": "RuntimeTaskInstanceProtocol",
    "airflow.decorators": "dag task task_group setup teardown",
    "airflow.models": "DAG BaseOperator Variable Connection TaskInstance Param XComArg",
    "airflow.models.baseoperator": "BaseOperator chain chain_linear cross_downstream",
    "airflow.models.dag": "DAG dag",
    "airflow.models.param": "Param",
    "airflow.models.variable": "Variable",
    "airflow.models.connection": "Connection",
    "airflow.models.taskinstance": "TaskInstance",
    "airflow.models.xcom_arg": "XComArg",
    "airflow.hooks.base": "BaseHook",
    "airflow.hooks.base_hook": "BaseHook",
    "airflow.exceptions": _EXCEPTIONS,
    "airflow.datasets": "Dataset DatasetAlias DatasetAll DatasetAny",
    "airflow.assets": _ASSETS,
    "airflow.timetables.base": "DagRunInfo DataInterval TimeRestriction Timetable",
    "airflow.timetables.interval": "CronDataIntervalTimetable DeltaDataIntervalTimetable",
    "airflow.timetables.trigger": "CronTriggerTimetable MultipleCronTriggerTimetable",
    "airflow.timetables.events": "EventsTimetable",
    "airflow.timetables.datasets": "DatasetOrTimeSchedule",
    "airflow.timetables.assets": "AssetOrTimeSchedule",
    "airflow.timetables.simple": "OnceTimetable ContinuousTimetable NullTimetable",
    "airflow.utils.context": "Context",
    "airflow.utils.dates": "days_ago",
    "airflow.utils.decorators": "apply_defaults",
    "airflow.utils.edgemodifier": "Label",
    "airflow.utils.helpers": "chain cross_downstream",
    "airflow.utils.state": "State TaskInstanceState DagRunState",
    "airflow.utils.task_group": "TaskGroup",
    "airflow.utils.timezone": "datetime utcnow make_aware parse utc",
    "airflow.utils.trigger_rule": "TriggerRule",
    "airflow.utils.types": "DagRunType",
    "airflow.utils.weekday": "WeekDay",
    "airflow.sensors.base": "BaseSensorOperator PokeReturnValue",
    "airflow.sensors.base_sensor_operator": "BaseSensorOperator",
    "airflow.operators.dummy": "DummyOperator",
    "airflow.operators.dummy_operator": "DummyOperator",
    "airflow.operators.bash_operator": "BashOperator",
    "airflow.operators.python_operator": _PYTHON,
    "airflow.providers.standard.utils.weekday": "WeekDay",
}
#: In Airflow 2 under ``airflow``, in Airflow 3 under ``airflow.providers.standard``.
_MOVED: dict[str, str] = {
    "operators.bash": "BashOperator",
    "operators.branch": "BaseBranchOperator",
    "operators.datetime": "BranchDateTimeOperator",
    "operators.empty": "EmptyOperator",
    "operators.latest_only": "LatestOnlyOperator",
    "operators.python": _PYTHON,
    "operators.weekday": "BranchDayOfWeekOperator",
    "sensors.bash": "BashSensor",
    "sensors.date_time": "DateTimeSensor DateTimeSensorAsync",
    "sensors.filesystem": "FileSensor",
    "sensors.python": "PythonSensor",
    "sensors.time": "TimeSensor TimeSensorAsync",
    "sensors.time_delta": "TimeDeltaSensor TimeDeltaSensorAsync",
    "sensors.time_sensor": "TimeSensor TimeSensorAsync",
    "sensors.weekday": "DayOfWeekSensor",
}


def _home(name: str) -> str:
    meaning = _MEANING[name]
    return meaning if ":" in meaning else f"{meaning}:{name}"


def _homes(modules: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {module: {name: _home(name) for name in names.split()} for module, names in modules}


#: Module → name → ``module:attribute`` that it means here.
HOMES = _homes(
    [
        *_MODULES.items(),
        *((f"airflow.{module}", names) for module, names in _MOVED.items()),
        *((f"airflow.providers.standard.{module}", names) for module, names in _MOVED.items()),
    ]
)

#: The first word that is in the missing name decides.
_INSTEAD = (
    ("TriggerDagRun", "announce a dataset in the task's outlets and make it the other DAG's schedule"),
    ("ExternalTask", "let the other DAG's task announce a dataset and make it this DAG's schedule"),
    ("Virtualenv", "a DAG's tasks share its environment; call the other interpreter in a BashOperator"),
    ("ExternalPython", "a DAG's tasks share its environment; call the other interpreter in a BashOperator"),
    ("Email", "send the mail in a @task or a callback, with the standard library's smtplib"),
    ("Trigger", "wait in a sensor with mode='reschedule', which holds no worker either"),
    ("SubDag", "put the tasks in a TaskGroup"),
    ("Notifier", "give a function as the callback"),
    ("Sensor", "write it with @task.sensor around the service's own Python client"),
    ("Operator", "call the service's own Python client in a @task; its address and secrets are conn.<id>"),
    ("Hook", "use the service's own Python client with what BaseHook.get_connection gives"),
    ("models", "the engine's database is out of a DAG's reach; ask the REST API"),
    ("configuration", "settings are not a DAG's; use variables"),
)


def instead(name: str) -> str:
    """What to use for an Airflow name without counterpart."""
    module, _, last = name.rpartition(".")
    near = [home for home, names in HOMES.items() if last in names]
    if near:
        return f"it is in {near[0]}"
    return next((hint for word, hint in _INSTEAD if word in last or word in module.split(".")), "there is nothing like it")
