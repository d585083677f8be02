"""Dagbook: a DAG orchestration engine that lives in Jupyter.  Names load when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dagbook.authoring.arguments import XComArg
    from dagbook.authoring.branching import BaseBranchOperator, BranchPythonOperator, LatestOnlyOperator, ShortCircuitOperator
    from dagbook.authoring.builder import DAG, dag
    from dagbook.authoring.datasets import Dataset, DatasetAlias, DatasetAll, DatasetAny
    from dagbook.authoring.deadlines import DeadlineAlert
    from dagbook.authoring.edges import Label, chain, chain_linear, cross_downstream
    from dagbook.authoring.groups import TaskGroup, task_group
    from dagbook.authoring.operators import BaseOperator, BashOperator, EmptyOperator, PythonOperator
    from dagbook.authoring.params import Param
    from dagbook.authoring.schedules import CronInterval, CronTriggerTimetable
    from dagbook.authoring.sensors import BaseSensorOperator, DateTimeSensor, PokeReturnValue, PythonSensor, TimeDeltaSensor
    from dagbook.authoring.taskflow import setup, task, teardown
    from dagbook.authoring.timetables import (
        DagRunInfo,
        DatasetOrTime,
        EventsTimetable,
        MultipleCronTriggerTimetable,
        TimeRestriction,
        Timetable,
    )
    from dagbook.errors import FailTask, RescheduleTask, SkipTask
    from dagbook.spec.models import DataInterval, TriggerRule
    from dagbook.worker.context import get_current_context

_HOMES = {
    "XComArg": "authoring.arguments",
    "BaseBranchOperator": "authoring.branching",
    "BranchPythonOperator": "authoring.branching",
    "LatestOnlyOperator": "authoring.branching",
    "ShortCircuitOperator": "authoring.branching",
    "DAG": "authoring.builder",
    "dag": "authoring.builder",
    "Dataset": "authoring.datasets",
    "DatasetAlias": "authoring.datasets",
    "DatasetAll": "authoring.datasets",
    "DatasetAny": "authoring.datasets",
    "DeadlineAlert": "authoring.deadlines",
    "Label": "authoring.edges",
    "chain": "authoring.edges",
    "chain_linear": "authoring.edges",
    "cross_downstream": "authoring.edges",
    "TaskGroup": "authoring.groups",
    "task_group": "authoring.groups",
    "BaseOperator": "authoring.operators",
    "BashOperator": "authoring.operators",
    "EmptyOperator": "authoring.operators",
    "PythonOperator": "authoring.operators",
    "Param": "authoring.params",
    "CronInterval": "authoring.schedules",
    "CronTriggerTimetable": "authoring.schedules",
    "BaseSensorOperator": "authoring.sensors",
    "DateTimeSensor": "authoring.sensors",
    "PokeReturnValue": "authoring.sensors",
    "PythonSensor": "authoring.sensors",
    "TimeDeltaSensor": "authoring.sensors",
    "setup": "authoring.taskflow",
    "task": "authoring.taskflow",
    "teardown": "authoring.taskflow",
    "DagRunInfo": "authoring.timetables",
    "DatasetOrTime": "authoring.timetables",
    "EventsTimetable": "authoring.timetables",
    "MultipleCronTriggerTimetable": "authoring.timetables",
    "TimeRestriction": "authoring.timetables",
    "Timetable": "authoring.timetables",
    "FailTask": "errors",
    "RescheduleTask": "errors",
    "SkipTask": "errors",
    "DataInterval": "spec.models",
    "TriggerRule": "spec.models",
    "get_current_context": "worker.context",
}
__all__ = [
    "DAG",
    "BaseBranchOperator",
    "BaseOperator",
    "BaseSensorOperator",
    "BashOperator",
    "BranchPythonOperator",
    "CronInterval",
    "CronTriggerTimetable",
    "DagRunInfo",
    "DataInterval",
    "Dataset",
    "DatasetAlias",
    "DatasetAll",
    "DatasetAny",
    "DatasetOrTime",
    "DateTimeSensor",
    "DeadlineAlert",
    "EmptyOperator",
    "EventsTimetable",
    "FailTask",
    "Label",
    "LatestOnlyOperator",
    "MultipleCronTriggerTimetable",
    "Param",
    "PokeReturnValue",
    "PythonOperator",
    "PythonSensor",
    "RescheduleTask",
    "ShortCircuitOperator",
    "SkipTask",
    "TaskGroup",
    "TimeDeltaSensor",
    "TimeRestriction",
    "Timetable",
    "TriggerRule",
    "XComArg",
    "chain",
    "chain_linear",
    "cross_downstream",
    "dag",
    "get_current_context",
    "setup",
    "task",
    "task_group",
    "teardown",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dagbook' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"dagbook.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def load_ipython_extension(ip: Any) -> None:
    importlib.import_module("dagbook.notebook.extension").load(ip)


def unload_ipython_extension(ip: Any) -> None:
    importlib.import_module("dagbook.notebook.extension").unload(ip)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "dagbook"}]
