"""What can be wrong with a DAG's structure, all of it at once."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator
from dagbook.authoring.place import authored
from dagbook.errors import Fault, nearest
from dagbook.spec.models import DagSource, DagSpec

#: Letters of any script, digits, dot, dash, underscore; no path parts, no leading dot or dash.
ID = re.compile(r"^(?![.\-])[\w.\-]{1,250}$")


def structure(dag: DAG, source: DagSource) -> list[Fault]:
    faults = []
    if not valid_id(dag.dag_id):
        faults.append(Fault(_bad_id("DAG", dag.dag_id), *authored(dag.place, source)))
    if not dag.operators:
        faults.append(Fault(f"DAG {dag.dag_id!r} has no tasks; call at least one @task function in it", *authored(dag.place, source)))
    seen: dict[str, BaseOperator] = {}
    for o in dag.operators:
        where = authored(o.place, source)
        if not valid_id(o.task_id):
            faults.append(Fault(_bad_id("task", o.task_id), *where))
        if o.task_id in seen:
            first = authored(seen[o.task_id].place, source)
            faults.append(Fault(f"task id {o.task_id!r} is taken already, at {first[0]}, line {first[1]}", *where))
        seen.setdefault(o.task_id, o)
    groups: set[str] = set()
    for g in dag.groups:
        where = authored(g.place, source)
        if not valid_id(g.group_id):
            faults.append(Fault(_bad_id("task group", g.group_id), *where))
        if g.group_id in groups or g.group_id in seen:
            faults.append(Fault(f"task group id {g.group_id!r} is taken already", *where))
        groups.add(g.group_id)
    return faults


def valid_id(word: object) -> bool:
    return isinstance(word, str) and bool(ID.match(word)) and ".." not in word


def _bad_id(what: str, word: object) -> str:
    return f"{what} id {word!r} is not allowed: letters, digits, '.', '-' and '_', 250 at most, not starting with '.' or '-'"


def topological(dag: DAG, source: DagSource, faults: list[Fault]) -> list[BaseOperator]:
    """Operators with upstreams first, ties in the author's order; a cycle is a fault that names its path."""
    by_id = {o.task_id: o for o in dag.operators}
    for o in by_id.values():
        for u in sorted(o.upstream - set(by_id)):
            faults.append(Fault(f"task {o.task_id!r} depends on {u!r}, which is in another DAG", *authored(o.place, source)))
    done: dict[str, BaseOperator] = {}
    left = dict(by_id)
    while left:
        ready = [o for o in left.values() if all(u in done or u not in by_id for u in o.upstream)]
        if not ready:
            path = _cycle(left)
            faults.append(Fault("the tasks form a cycle: " + " → ".join(path), *authored(left[path[0]].place, source)))
            break
        for o in ready:
            done[o.task_id] = left.pop(o.task_id)
    return list(done.values())


def _cycle(left: dict[str, BaseOperator]) -> list[str]:
    """Walk upstream until a task repeats; every task left has an upstream left."""
    path = [next(iter(left))]
    while True:
        step = min(u for u in left[path[-1]].upstream if u in left)
        if step in path:
            return [step, *reversed(path[path.index(step) :])]
        path.append(step)


def unknown_pools(spec: DagSpec, pools: Mapping[str, int]) -> list[Fault]:
    """``pools``: name → slots, as the engine has them."""
    return [
        Fault(f"task {t.task_id!r}: there is no pool {t.pool!r}{nearest(t.pool, list(pools))}", t.origin, t.line)
        for t in spec.tasks
        if t.pool not in pools
    ]
