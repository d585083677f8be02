"""Dagbook: a DAG orchestration engine that lives in Jupyter.  Names load when first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dagbook.authoring.arguments import XComArg
    from dagbook.authoring.builder import DAG, dag
    from dagbook.authoring.operators import (
        BaseOperator,
        BashOperator,
        EmptyOperator,
        PythonOperator,
        chain,
        cross_downstream,
    )
    from dagbook.authoring.params import Dataset, Param
    from dagbook.authoring.sensors import DateTimeSensor, TimeDeltaSensor
    from dagbook.authoring.taskflow import task
    from dagbook.errors import FailTask, SkipTask
    from dagbook.spec.models import TriggerRule
    from dagbook.worker.context import get_current_context

_HOMES = {
    "DAG": "authoring.builder",
    "dag": "authoring.builder",
    "task": "authoring.taskflow",
    "BaseOperator": "authoring.operators",
    "PythonOperator": "authoring.operators",
    "BashOperator": "authoring.operators",
    "EmptyOperator": "authoring.operators",
    "DateTimeSensor": "authoring.sensors",
    "TimeDeltaSensor": "authoring.sensors",
    "chain": "authoring.operators",
    "cross_downstream": "authoring.operators",
    "Param": "authoring.params",
    "Dataset": "authoring.params",
    "XComArg": "authoring.arguments",
    "TriggerRule": "spec.models",
    "SkipTask": "errors",
    "FailTask": "errors",
    "get_current_context": "worker.context",
}
__all__ = [
    "DAG",
    "BaseOperator",
    "BashOperator",
    "Dataset",
    "DateTimeSensor",
    "EmptyOperator",
    "FailTask",
    "Param",
    "PythonOperator",
    "SkipTask",
    "TimeDeltaSensor",
    "TriggerRule",
    "XComArg",
    "chain",
    "cross_downstream",
    "dag",
    "get_current_context",
    "task",
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
