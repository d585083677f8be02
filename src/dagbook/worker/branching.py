"""What a branch's answer leaves untaken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dagbook.authoring.freeze_tasks import downstreams, reachable
from dagbook.authoring.operators import BaseOperator
from dagbook.errors import FailTask, nearest


def untaken(operator: BaseOperator, answer: Any) -> list[str]:
    """Task ids, sorted; a teardown is always taken."""
    edges = downstreams(operator.dag)
    direct = edges[operator.task_id]
    if operator.branching == "branch":
        left = direct - _chosen(operator, direct, answer)
    elif answer:
        left = set()
    elif operator.branching == "short_circuit" and getattr(operator, "ignore_downstream_trigger_rules", True):
        left = reachable(edges, operator.task_id)
    else:
        left = direct
    return sorted(left - {o.task_id for o in operator.dag.operators if o.is_teardown})


def _chosen(operator: BaseOperator, direct: set[str], answer: Any) -> set[str]:
    """Tasks named by the answer: ids of tasks or groups, whole or within the branch's own group; ``None`` is none."""
    if answer is None:
        return set()
    if not isinstance(answer, str) and not isinstance(answer, Iterable):
        raise FailTask(f"the branch returned a {type(answer).__name__}; it must return a task id, a list of them, or None")
    names = [answer] if isinstance(answer, str) else list(answer)
    groups = {g.group_id: {o.task_id for o in g.firsts} for g in operator.dag.groups}
    chosen: set[str] = set()
    for name in names:
        full = [str(name)] + ([operator.group.child_id(str(name))] if operator.group else [])
        found = next((f for f in full if f in direct or groups.get(f, set()) & direct), None)
        if found is None:
            raise FailTask(f"the branch chose {name!r}, which is not directly downstream of it{nearest(str(name), sorted(direct))}")
        chosen |= {found} if found in direct else groups[found] & direct
    return chosen
