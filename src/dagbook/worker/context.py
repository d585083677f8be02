"""What a running task knows of its run."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator
from dagbook.authoring.schedules import parse
from dagbook.spec.models import RETURN_VALUE
from dagbook.spec.ticks import next_tick
from dagbook.wire.tasks import Claimed, PreviousSuccess, PreviousSuccessGet, TriggeringEvents, TriggeringEventsGet, TryKey, XComSet
from dagbook.worker.channel import Channel
from dagbook.worker.outlets import OutletEvents
from dagbook.worker.results import Results
from dagbook.worker.secrets import Connections, JsonVariables, Variables
from dagbook.worker.values import encoded

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
    start_date: datetime | None = None

    @property
    def dag_id(self) -> str:
        return self.dag.dag_id

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
        """Keep ``value`` under ``key`` for other tasks; an empty key is refused."""
        if not isinstance(key, str) or not key:
            raise ValueError(f"an XCom key is a text that is not empty, not {key!r}")
        self.channel.ask(XComSet(key, encoded(value)))

    def xcom_pull(
        self,
        task_ids: str | Iterable[str] | None = None,
        key: str = RETURN_VALUE,
        *,
        map_indexes: int | Iterable[int] | None = None,
        default: Any = None,
        **_ignored: Any,
    ) -> Any:
        """The value of another task of this run, ``default`` where there is none.

        A lazy sequence for a mapped task, a list for several ``task_ids`` or ``map_indexes``.
        """
        if not isinstance(key, str) or not key:
            raise ValueError(f"an XCom key is a text that is not empty, not {key!r}")
        if task_ids is None:
            task_ids = self.task_id
        if not isinstance(task_ids, str):
            return [self.xcom_pull(t, key, map_indexes=map_indexes, default=default) for t in task_ids]
        results, task = Results(self.channel), self.dag.get_task(task_ids)
        if map_indexes is not None:
            wanted = [map_indexes] if isinstance(map_indexes, int) else list(map_indexes)
            found = [results.pull(task_ids, key, map_index=i, default=default) for i in wanted]
            return found[0] if isinstance(map_indexes, int) else found
        mapped = task.mapping is not None or task.mapped_group is not None
        return results.pull(task_ids, key, mapped=mapped, default=default)


class Context(dict[str, Any]):
    """The names that templates and tasks know; ``lazy`` ones are fetched when they are first used."""

    def __init__(self, known: Mapping[str, Any], lazy: Mapping[str, Callable[[], Any]]):
        super().__init__(known)
        self._lazy = lazy

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._lazy

    def __missing__(self, name: str) -> Any:
        value = self[name] = self._lazy[name]()
        return value


def build(dag: DAG, operator: BaseOperator | None, key: TryKey, claimed: Claimed, channel: Channel) -> Context:
    """Names as Airflow's users know them; instants in UTC."""
    c = claimed.context
    logical, start, end = (t.astimezone(UTC) for t in (c.logical_date, c.data_interval_start, c.data_interval_end))
    ti = TaskInstance(dag, key, c.run_id, c.max_tries, channel, claimed.started_at)
    run = SimpleNamespace(
        dag_id=c.dag_id,
        run_id=c.run_id,
        run_type=c.run_type,
        conf=c.conf,
        logical_date=logical,
        execution_date=logical,
        data_interval_start=start,
        data_interval_end=end,
        external_trigger=c.run_type == "manual",
    )
    known = {
        "dag": dag,
        "task": operator,
        "ti": ti,
        "task_instance": ti,
        "dag_run": run,
        "run_id": c.run_id,
        "logical_date": logical,
        "execution_date": logical,
        "data_interval_start": start,
        "data_interval_end": end,
        "ds": logical.strftime("%Y-%m-%d"),
        "ds_nodash": logical.strftime("%Y%m%d"),
        "ts": logical.isoformat(),
        "ts_nodash": logical.strftime("%Y%m%dT%H%M%S"),
        "ts_nodash_with_tz": logical.strftime("%Y%m%dT%H%M%S%z"),
        "params": {**{name: p.default for name, p in dag.params.items()}, **c.params},
        "conf": c.conf,
        "macros": _MACROS,
        "var": SimpleNamespace(value=Variables(channel), json=JsonVariables(channel)),
        "conn": Connections(channel),
        "outlet_events": OutletEvents(operator.options["outlets"] if operator else ()),
        "task_instance_key_str": f"{c.dag_id}__{key.task_id}__{logical:%Y%m%d}",
        "test_mode": False,
    }
    return Context(
        known,
        {**_previous(channel), "triggering_dataset_events": lambda: _events(channel), "triggering_asset_events": lambda: _events(channel)},
    )


def _previous(channel: Channel) -> dict[str, Callable[[], Any]]:
    """``prev_…_success``: of the newest successful run before this one, ``None`` without one; asked for once."""
    asked: list[PreviousSuccess] = []

    def of(name: str) -> Any:
        if not asked:
            reply = channel.ask(PreviousSuccessGet())
            assert isinstance(reply, PreviousSuccess)
            asked.append(reply)
        moment = getattr(asked[0], name)
        return moment.astimezone(UTC) if moment else None

    names = {
        "prev_data_interval_start_success": "data_interval_start",
        "prev_data_interval_end_success": "data_interval_end",
        "prev_start_date_success": "start_date",
        "prev_end_date_success": "end_date",
        "prev_logical_date_success": "logical_date",
        "prev_execution_date_success": "logical_date",
    }
    return {name: lambda field=field: of(field) for name, field in names.items()}  # type: ignore[misc]


def _events(channel: Channel) -> dict[str, list[Any]]:
    """The dataset events that started the run, by URI."""
    reply = channel.ask(TriggeringEventsGet())
    assert isinstance(reply, TriggeringEvents)
    found: dict[str, list[Any]] = {}
    for event in reply.events:
        found.setdefault(event.uri, []).append(event)
    return found


def is_latest(dag: DAG, context: Mapping[str, Any]) -> bool:
    """Whether no later run of the schedule is due yet; runs by hand always are the latest."""
    run = context["dag_run"]
    schedule = parse(dag.schedule) if run.run_type in ("scheduled", "backfill") else None
    if schedule is None or not schedule.has_ticks:
        return True
    zone = dag.timezone or str(getattr(dag.start_date, "tzinfo", None) or "UTC")
    anchor = dag.start_date or run.data_interval_end
    anchor = anchor if anchor.tzinfo else anchor.replace(tzinfo=UTC)
    following: datetime = next_tick(schedule, "UTC" if zone.startswith("UTC") else zone, anchor.astimezone(UTC), run.data_interval_end)
    return datetime.now(UTC) <= following


def _ds_add(ds: str, days: int) -> str:
    return (datetime.strptime(ds, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=days)).strftime("%Y-%m-%d")


def _ds_format(ds: str, input_format: str, output_format: str) -> str:
    return datetime.strptime(ds, input_format).strftime(output_format)


_MACROS = SimpleNamespace(
    datetime=datetime,
    timedelta=timedelta,
    ds_add=_ds_add,
    ds_format=_ds_format,
    json=json,
    random=random.random,
    time=time,
    uuid=uuid,
)
