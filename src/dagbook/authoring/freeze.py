"""A built ``DAG`` becomes a ``DagSpec``; every fault is gathered and told at once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from dagbook.authoring import check
from dagbook.authoring.builder import DAG
from dagbook.authoring.datasets import Dataset, DatasetAlias, DatasetAll, DatasetAny, condition
from dagbook.authoring.freeze_tasks import as_callbacks, freeze_deadline, freeze_task
from dagbook.authoring.place import authored
from dagbook.authoring.schedules import parse
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.models import DagSource, DagSpec, DatasetCondition, ParamSpec, Schedule, TaskGroupSpec


def freeze(dag: DAG, source: DagSource) -> DagSpec:
    """Raise ``InvalidDag`` with all faults, each at the author's own place."""
    faults: list[Fault] = check.structure(dag, source)
    order = check.topological(dag, source, faults)
    datasets, schedule = _datasets(dag, source, faults), _schedule(dag, source, faults)
    zone = _zone(dag, source, faults)
    tasks = [freeze_task(o, dag, source, faults) for o in order]
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
        datasets=datasets,
        start_date=_utc(dag.start_date, zone),
        end_date=_utc(dag.end_date, zone),
        timezone=zone,
        catchup=dag.catchup,
        max_active_runs=dag.max_active_runs,
        max_active_tasks=dag.max_active_tasks,
        dagrun_timeout=dag.dagrun_timeout,
        fail_fast=dag.fail_fast,
        deadline=freeze_deadline(dag.deadline, f"DAG {dag.dag_id!r}", faults, authored(dag.place, source)),
        callbacks=as_callbacks({"success": dag.on_success_callback, "failure": dag.on_failure_callback}),
        groups=tuple(
            TaskGroupSpec(g.group_id, g.parent.group_id if g.parent else None, g.tooltip, g.mapping is not None) for g in dag.groups
        ),
        params=params,
        tags=dag.tags,
        description=dag.description,
        doc_md=dag.doc_md,
    )


def _datasets(dag: DAG, source: DagSource, faults: list[Fault]) -> DatasetCondition | None:
    try:
        return condition(dag.schedule)
    except ValueError as e:
        faults.append(Fault(str(e), *authored(dag.place, source)))
        return None


def _schedule(dag: DAG, source: DagSource, faults: list[Fault]) -> Schedule | None:
    if isinstance(dag.schedule, list | tuple | set | Dataset | DatasetAlias | DatasetAll | DatasetAny):
        return None
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


def _plain(value: Any, what: str, faults: list[Fault], where: tuple[str, int]) -> None:
    try:
        msgspec.json.encode(value)
    except TypeError:
        faults.append(Fault(f"{what} has a default of type {type(value).__name__}, which JSON can't carry", *where))
