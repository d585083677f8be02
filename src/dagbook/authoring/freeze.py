"""A built ``DAG`` becomes a ``DagSpec``; every fault is gathered and told at once."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dagbook.authoring import check, zones
from dagbook.authoring.builder import DAG
from dagbook.authoring.datasets import Dataset, DatasetAlias, DatasetAll, DatasetAny, condition
from dagbook.authoring.freeze_tasks import as_callbacks, freeze_deadline, freeze_task
from dagbook.authoring.place import authored
from dagbook.authoring.schedules import parse
from dagbook.errors import Fault, InvalidDag
from dagbook.spec import params
from dagbook.spec.models import DagSource, DagSpec, DatasetCondition, ParamSpec, Schedule, TaskGroupSpec


def freeze(dag: DAG, source: DagSource, default_timezone: str = "UTC") -> DagSpec:
    """Raise ``InvalidDag`` with all faults, each at the author's own place.

    ``default_timezone`` is the zone of a DAG that names none and whose ``start_date`` is naive.
    """
    faults: list[Fault] = check.structure(dag, source)
    order = check.topological(dag, source, faults)
    datasets, schedule = _datasets(dag, source, faults), _schedule(dag, source, faults)
    zone = _zone(dag, schedule, default_timezone, source, faults)
    start_date, end_date = (_date(dag, name, zone, source, faults) for name in ("start_date", "end_date"))
    tasks = [freeze_task(o, dag, source, faults) for o in order]
    run_params = tuple(ParamSpec(name, p.default, p.description, p.schema) for name, p in sorted(dag.params.items()))
    for p in run_params:
        _param(p, dag, faults, authored(dag.place, source))
    if faults:
        raise InvalidDag(faults)
    return DagSpec(
        dag_id=dag.dag_id,
        tasks=tuple(t for t in tasks if t is not None),
        schedule=schedule,
        datasets=datasets,
        start_date=start_date,
        end_date=end_date,
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
        params=run_params,
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
    if schedule is not None and dag.start_date is None and (dag.catchup or schedule.kind in ("once", "continuous")):
        why = "catchup" if dag.catchup else f"schedule {schedule.text!r}"
        faults.append(
            Fault(
                f"DAG {dag.dag_id!r} has {why} but no start_date to begin at; give one, for example "
                "start_date=datetime(2025, 1, 1) or --start 2025-01-01",
                *authored(dag.place, source),
            )
        )
    if schedule is not None and schedule.kind == "continuous" and dag.max_active_runs != 1:
        faults.append(
            Fault(
                f"DAG {dag.dag_id!r} has the schedule '@continuous' and max_active_runs={dag.max_active_runs}; its runs follow "
                "each other, so give max_active_runs=1",
                *authored(dag.place, source),
            )
        )
    return schedule


def _zone(dag: DAG, schedule: Schedule | None, default: str, source: DagSource, faults: list[Fault]) -> str:
    """The DAG's own, else its schedule's, else its start_date's, else the engine's default."""
    name = zones.given(dag.timezone) or (schedule and schedule.timezone)
    what = f"timezone {name!r}"
    if not name and isinstance(dag.start_date, datetime) and dag.start_date.tzinfo is not None:
        try:
            return zones.of(dag.start_date)
        except ValueError as e:
            # Where no wall clock is read, the zone only says how dates are shown.
            if schedule is not None and schedule.cron is not None:
                faults.append(Fault(f"DAG {dag.dag_id!r}: {e}", *authored(dag.place, source)))
    if not name:
        name, what = default, f"DAGBOOK_DEFAULT_TIMEZONE={default!r}"
    if not zones.known(name):
        faults.append(Fault(f"{what} is not known; give an IANA name such as 'Europe/Berlin'", *authored(dag.place, source)))
        return "UTC"
    return name


def _date(dag: DAG, name: str, zone: str, source: DagSource, faults: list[Fault]) -> datetime | None:
    try:
        return zones.utc(getattr(dag, name), zone, name)
    except ValueError as e:
        faults.append(Fault(f"DAG {dag.dag_id!r}: {e}", *authored(dag.place, source)))
        return None


def _param(p: ParamSpec, dag: DAG, faults: list[Fault], where: tuple[str, int]) -> None:
    try:
        msgspec.json.encode([p.default, p.schema])
    except TypeError:
        faults.append(Fault(f"param {p.name!r} has a {type(p.default).__name__} for its default, which JSON can't carry", *where))
        return
    if fault := params.schema_fault(p.schema):
        faults.append(Fault(f"param {p.name!r}: {fault}", *where))
    elif p.default is not None and (fault := params.value_fault(p, p.default)):
        faults.append(Fault(f"{fault} (its default)", *where))
    elif dag.schedule is not None and params.required(p):
        faults.append(Fault(f"param {p.name!r} needs a default, since nobody gives one to the runs of the schedule", *where))
