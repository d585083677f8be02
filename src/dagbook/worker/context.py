"""What a running task knows of its run, and ``{{ }}`` templates over it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from dagbook.artifacts import codecs
from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator
from dagbook.spec.models import RETURN_VALUE
from dagbook.wire.tasks import Claimed, TryKey, Value, XComSet
from dagbook.worker.channel import Channel
from dagbook.worker.results import Results

current: ContextVar[Mapping[str, Any]] = ContextVar("dagbook_context")


def get_current_context() -> Mapping[str, Any]:
    """The context of the task that is running now; ``RuntimeError`` outside a task."""
    try:
        return current.get()
    except LookupError:
        raise RuntimeError("get_current_context() works only inside a running task") from None


@dataclass
class TaskInstance:
    """``ti`` in the context: this instance's names, and XCom by hand."""

    dag: DAG
    key: TryKey
    run_id: str
    max_tries: int
    channel: Channel

    @property
    def task_id(self) -> str:
        return self.key.task_id

    @property
    def map_index(self) -> int:
        return self.key.map_index

    @property
    def try_number(self) -> int:
        return self.key.try_number

    def xcom_push(self, key: str, value: Any) -> None:
        self.channel.ask(XComSet(key, encoded(value)))

    def xcom_pull(self, task_ids: str, key: str = RETURN_VALUE) -> Any:
        """The value of another task of this run; a lazy sequence for a mapped one."""
        task = self.dag.get_task(task_ids)
        return Results(self.channel).pull(task_ids, key, mapped=task.mapping is not None)


def encoded(value: Any) -> Value:
    codec, data, length = codecs.encode(value)
    return Value(codec, data, length, codecs.preview(value))


def build(dag: DAG, operator: BaseOperator, key: TryKey, claimed: Claimed, channel: Channel) -> dict[str, Any]:
    """Names as Airflow's users know them."""
    c = claimed.context
    start = c.data_interval_start.astimezone(UTC)
    logical = c.logical_date.astimezone(UTC)
    params = {**{name: p.default for name, p in dag.params.items()}, **c.params}
    return {
        "dag": dag,
        "task": operator,
        "ti": TaskInstance(dag, key, c.run_id, c.max_tries, channel),
        "dag_run": SimpleNamespace(
            dag_id=c.dag_id, run_id=c.run_id, run_type=c.run_type, conf=c.conf, logical_date=logical,
            data_interval_start=start, data_interval_end=c.data_interval_end.astimezone(UTC),
        ),
        "run_id": c.run_id,
        "logical_date": logical,
        "data_interval_start": start,
        "data_interval_end": c.data_interval_end.astimezone(UTC),
        "ds": logical.strftime("%Y-%m-%d"),
        "ds_nodash": logical.strftime("%Y%m%d"),
        "ts": logical.isoformat(),
        "ts_nodash": logical.strftime("%Y%m%dT%H%M%S"),
        "params": params,
        "conf": c.conf,
        "macros": _MACROS,
    }


def _ds_add(ds: str, days: int) -> str:
    return (datetime.strptime(ds, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=days)).strftime("%Y-%m-%d")


_MACROS = SimpleNamespace(datetime=datetime, timedelta=timedelta, ds_add=_ds_add)


@functools.cache
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)


def render(value: Any, context: Mapping[str, Any]) -> Any:
    """``{{ }}`` in every string of ``value``'s lists, tuples and dicts; other text is left byte for byte."""
    if isinstance(value, str):
        return _environment().from_string(value).render(context) if "{{" in value or "{%" in value else value
    if isinstance(value, dict):
        return {k: render(v, context) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(render(v, context) for v in value)
    return value
