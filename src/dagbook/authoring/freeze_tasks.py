"""An operator becomes a ``TaskSpec``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dagbook.authoring import datasets
from dagbook.authoring.builder import DAG
from dagbook.authoring.deadlines import DeadlineAlert
from dagbook.authoring.operators import BaseOperator
from dagbook.authoring.place import authored
from dagbook.authoring.templated import syntax_fault
from dagbook.errors import Fault, nearest
from dagbook.spec.models import DagSource, Deadline, Expansion, RetryPolicy, TaskSpec, TriggerRule

_WEIGHTS = ("downstream", "upstream", "absolute")
_KINDS = ("execute", "success", "failure", "retry", "skipped")


def freeze_task(o: BaseOperator, dag: DAG, source: DagSource, faults: list[Fault]) -> TaskSpec | None:
    origin, line = authored(o.place, source)
    opt = o.options
    before = len(faults)
    _check_options(o, faults, (origin, line))
    if len(faults) > before:
        return None
    group = o.mapped_group
    return TaskSpec(
        task_id=o.task_id,
        operator="@task" if type(o).__name__ == "PythonOperator" else type(o).__name__,
        upstream=tuple(sorted(o.upstream)),
        trigger_rule=TriggerRule(opt["trigger_rule"]),
        retry=RetryPolicy(
            opt["retries"],
            span(opt["retry_delay"]) or timedelta(0),
            bool(opt["retry_exponential_backoff"]),
            span(opt["max_retry_delay"]),
        ),
        pool=opt["pool"],
        pool_slots=opt["pool_slots"],
        priority_weight=_weight(o, dag),
        queue=opt["queue"],
        executor=opt["executor"],
        executor_config=dict(opt["executor_config"] or {}),
        owner=opt["owner"],
        execution_timeout=span(opt["execution_timeout"]),
        depends_on_past=bool(opt["depends_on_past"] or opt["wait_for_downstream"]),
        wait_for_downstream=bool(opt["wait_for_downstream"]),
        max_active_tis_per_dag=opt["max_active_tis_per_dag"],
        max_active_tis_per_dagrun=opt["max_active_tis_per_dagrun"],
        expansion=_expansion(o),
        groups=o.group.path if o.group else (),
        mapped_group=group.group_id if group else None,
        branches=o.branching is not None,
        short_circuits=o.branching == "short_circuit" and getattr(o, "ignore_downstream_trigger_rules", True),
        setup=o.is_setup,
        teardown=o.is_teardown,
        fails_run=o.fails_run,
        labels=dict(sorted(o.labels.items())),
        outlets=datasets.names(opt["outlets"]),
        inlets=datasets.names(opt["inlets"]),
        callbacks=as_callbacks({kind: opt[f"on_{kind}_callback"] for kind in _KINDS}),
        deadline=freeze_deadline(opt["deadline"], f"task {o.task_id!r}", faults, (origin, line)),
        doc_md=opt["doc_md"],
        origin=origin,
        line=line,
    )


def _check_options(o: BaseOperator, faults: list[Fault], where: tuple[str, int]) -> None:
    """Each wrong option is a fault that says which task, which option, and what is allowed."""
    opt = o.options

    def wrong(name: str, allowed: str) -> None:
        faults.append(Fault(f"task {o.task_id!r}: {name}={opt[name]!r} is not {allowed}", *where))

    if opt["trigger_rule"] not in set(TriggerRule) - ({TriggerRule.ALL_DONE_SETUP_SUCCESS} if not o.is_teardown else set()):
        known = [r for r in TriggerRule if r is not TriggerRule.ALL_DONE_SETUP_SUCCESS]
        near = nearest(str(opt["trigger_rule"]), [str(r) for r in known])
        faults.append(Fault(f"task {o.task_id!r}: trigger_rule {opt['trigger_rule']!r} is none of {', '.join(known)}{near}", *where))
    if opt["weight_rule"] not in _WEIGHTS:
        wrong("weight_rule", f"one of {', '.join(_WEIGHTS)}")
    for name, least in (("retries", 0), ("pool_slots", 1)):
        if not _whole(opt[name], least):
            wrong(name, f"a whole number ≥ {least}")
    for name in ("max_active_tis_per_dag", "max_active_tis_per_dagrun"):
        if opt[name] is not None and not _whole(opt[name], 1):
            wrong(name, "None or a whole number ≥ 1")
    for name in ("retry_delay", "max_retry_delay", "execution_timeout"):
        if opt[name] is not None and not isinstance(opt[name], int | float | timedelta):
            wrong(name, "a timedelta or a number of seconds")
    if not isinstance(opt["priority_weight"], int):
        wrong("priority_weight", "a whole number")
    if not isinstance(opt["outlets"], list | tuple | set):
        wrong("outlets", "a list of datasets")
    if fault := syntax_fault([o.arguments, opt["map_index_template"]]):
        faults.append(Fault(f"task {o.task_id!r}: {fault}", *where))
    if o.is_setup and opt["trigger_rule"] != TriggerRule.ALL_SUCCESS:
        wrong("trigger_rule", "allowed for a setup, whose rule is all_success")


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def span(value: Any) -> timedelta | None:
    return timedelta(seconds=value) if isinstance(value, int | float) else value


def as_callbacks(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The kinds for which the author gave a function or a list of them."""
    return tuple(kind for kind, functions in given.items() if functions)


def freeze_deadline(given: Any, what: str, faults: list[Fault], where: tuple[str, int]) -> Deadline | None:
    if given is None:
        return None
    if isinstance(given, timedelta):
        given = DeadlineAlert("queued_at", given)
    if not isinstance(given, DeadlineAlert):
        faults.append(Fault(f"{what}: deadline={given!r} is no DeadlineAlert; write DeadlineAlert('queued_at', timedelta(...))", *where))
        return None
    if isinstance(given.reference, datetime):
        at = given.reference if given.reference.tzinfo else given.reference.replace(tzinfo=UTC)
        return Deadline("fixed", given.interval, at.astimezone(UTC), given.callback is not None)
    if given.reference not in ("logical_date", "queued_at"):
        faults.append(Fault(f"{what}: a deadline counts from 'logical_date', 'queued_at' or a datetime, not {given.reference!r}", *where))
        return None
    return Deadline(given.reference, given.interval, None, given.callback is not None)  # type: ignore[arg-type]


def _expansion(o: BaseOperator) -> Expansion | None:
    if o.mapping is not None:
        return o.mapping.freeze()
    group = o.mapped_group
    return group.mapping.freeze() if group is not None and group.mapping is not None else None


def _weight(o: BaseOperator, dag: DAG) -> int:
    """Own weight plus, by ``weight_rule``, that of all distinct descendants or ancestors."""
    own, rule = int(o.options["priority_weight"]), o.options["weight_rule"]
    if rule == "absolute":
        return own
    by_id = {x.task_id: x for x in dag.operators}
    edges = {x.task_id: set(x.upstream) for x in dag.operators} if rule == "upstream" else downstreams(dag)
    return own + sum(int(by_id[t].options["priority_weight"]) for t in reachable(edges, o.task_id) if t in by_id)


def downstreams(dag: DAG) -> dict[str, set[str]]:
    """Direct ones, by task id."""
    found: dict[str, set[str]] = {x.task_id: set() for x in dag.operators}
    for x in dag.operators:
        for u in x.upstream:
            found.setdefault(u, set()).add(x.task_id)
    return found


def reachable(edges: Mapping[str, set[str]], start: str) -> set[str]:
    """Every task that ``edges`` lead to from ``start``, without it unless they lead back."""
    seen: set[str] = set()
    todo = list(edges.get(start, ()))
    while todo:
        t = todo.pop()
        if t not in seen:
            seen.add(t)
            todo.extend(edges.get(t, ()))
    return seen
