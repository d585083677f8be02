"""A built ``DAG`` becomes a ``DagSpec``; every fault is gathered and told at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from dagbook.authoring import check
from dagbook.authoring.arguments import XComArg
from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator, dataset_uris
from dagbook.authoring.place import authored
from dagbook.authoring.schedules import parse
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.models import (
    DagSource,
    DagSpec,
    Expansion,
    MapSource,
    ParamSpec,
    RetryPolicy,
    Schedule,
    TaskSpec,
    TriggerRule,
)


def freeze(dag: DAG, source: DagSource) -> DagSpec:
    """Raise ``InvalidDag`` with all faults, each at the author's own place."""
    faults: list[Fault] = check.structure(dag, source)
    order = check.topological(dag, source, faults)
    schedule = _schedule(dag, source, faults)
    zone = _zone(dag, source, faults)
    tasks = [_task(o, dag, source, faults) for o in order]
    params = tuple(
        ParamSpec(name, p.default, p.description, p.schema) for name, p in sorted(dag.params.items())
    )
    for p in params:
        _plain(p.default, f"param {p.name!r}", faults, authored(dag.place, source))
    if faults:
        raise InvalidDag(faults)
    return DagSpec(
        dag_id=dag.dag_id,
        tasks=tuple(t for t in tasks if t is not None),
        schedule=schedule,
        start_date=_utc(dag.start_date, zone),
        end_date=_utc(dag.end_date, zone),
        timezone=zone,
        catchup=dag.catchup,
        max_active_runs=dag.max_active_runs,
        max_active_tasks=dag.max_active_tasks,
        params=params,
        tags=dag.tags,
        description=dag.description,
        doc_md=dag.doc_md,
    )


def _schedule(dag: DAG, source: DagSource, faults: list[Fault]) -> Schedule | None:
    try:
        schedule = parse(dag.schedule)
    except ValueError as e:
        faults.append(Fault(str(e), *authored(dag.place, source)))
        return None
    if schedule is not None and dag.start_date is None:
        faults.append(
            Fault(
                f"DAG {dag.dag_id!r} has the schedule {schedule.text!r} but no start_date; give one, for example "
                "start_date=datetime(2025, 1, 1) or --start 2025-01-01",
                *authored(dag.place, source),
            )
        )
    return schedule


def _zone(dag: DAG, source: DagSource, faults: list[Fault]) -> str:
    name = dag.timezone or str(getattr(dag.start_date, "tzinfo", None) or "UTC")
    name = "UTC" if name.startswith("UTC") else name
    try:
        ZoneInfo(name)
    except Exception:
        faults.append(Fault(f"timezone {name!r} is not known; give an IANA name such as 'Europe/Berlin'",
                            *authored(dag.place, source)))
        return "UTC"
    return name


def _utc(moment: datetime | None, zone: str) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return moment.astimezone(UTC)


def _task(o: BaseOperator, dag: DAG, source: DagSource, faults: list[Fault]) -> TaskSpec | None:
    origin, line = authored(o.place, source)
    opt = o.options
    try:
        rule = TriggerRule(opt["trigger_rule"])
    except ValueError:
        known = ", ".join(TriggerRule)
        faults.append(Fault(f"task {o.task_id!r}: trigger_rule {opt['trigger_rule']!r} is none of {known}", origin, line))
        return None
    return TaskSpec(
        task_id=o.task_id,
        operator="@task" if type(o).__name__ == "PythonOperator" else type(o).__name__,
        upstream=tuple(sorted(o.upstream)),
        trigger_rule=rule,
        retry=RetryPolicy(
            opt["retries"], _span(opt["retry_delay"]) or timedelta(0),
            opt["retry_exponential_backoff"], _span(opt["max_retry_delay"]),
        ),
        pool=opt["pool"],
        pool_slots=opt["pool_slots"],
        priority_weight=_weight(o, dag),
        queue=opt["queue"],
        owner=opt["owner"],
        execution_timeout=_span(opt["execution_timeout"]),
        expansion=_expansion(o),
        outlets=dataset_uris(opt["outlets"]),
        doc_md=opt["doc_md"],
        origin=origin,
        line=line,
    )


def _span(value: Any) -> timedelta | None:
    return timedelta(seconds=value) if isinstance(value, int | float) else value


def _expansion(o: BaseOperator) -> Expansion | None:
    if o.mapping is None:
        return None
    kind = "kwargs" if o.mapping.kwargs_list is not None else "product"
    return Expansion(kind, tuple(_source(name, v) for name, v in o.mapping.sources.items()))  # type: ignore[arg-type]


def _source(name: str, value: Any) -> MapSource:
    if isinstance(value, XComArg):
        return MapSource(name, task_id=value.operator.task_id, key=value.key)
    return MapSource(name, length=len(value))


def _weight(o: BaseOperator, dag: DAG) -> int:
    """Own weight plus, by ``weight_rule``, that of all distinct descendants or ancestors."""
    own, rule = int(o.options["priority_weight"]), o.options["weight_rule"]
    if rule == "absolute":
        return own
    by_id = {x.task_id: x for x in dag.operators}
    edges: Mapping[str, set[str]] = (
        {x.task_id: set(x.upstream) for x in dag.operators}
        if rule == "upstream"
        else {x.task_id: {y.task_id for y in dag.operators if x.task_id in y.upstream} for x in dag.operators}
    )
    seen: set[str] = set()
    todo = list(edges[o.task_id])
    while todo:
        t = todo.pop()
        if t not in seen and t in by_id:
            seen.add(t)
            todo.extend(edges[t])
    return own + sum(int(by_id[t].options["priority_weight"]) for t in seen)


def _plain(value: Any, what: str, faults: list[Fault], where: tuple[str, int]) -> None:
    try:
        msgspec.json.encode(value)
    except TypeError:
        faults.append(Fault(f"{what} has a default of type {type(value).__name__}, which JSON can't carry", *where))
