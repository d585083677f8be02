"""Which tasks a clear touches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from dagbook.decide.upstream import below, reachable
from dagbook.spec.models import DagSpec


def selection(spec: DagSpec, wanted: Collection[str], *, upstream: bool = False, downstream: bool = False) -> frozenset[str]:
    """``wanted`` with what is above or below them, and the setups and teardowns without which they can't run again."""
    down = below(spec)
    up = {t.task_id: list(t.upstream) for t in spec.tasks}
    found = set(wanted)
    if upstream:
        found |= reachable(up, wanted)
    if downstream:
        found |= reachable(down, wanted)
    for task_id in tuple(found):
        found |= _scaffold(spec, task_id, up)
    return frozenset(found)


def _scaffold(spec: DagSpec, task_id: str, up: Mapping[str, Iterable[str]]) -> set[str]:
    """Setups above a task that no teardown above it has undone, and their teardowns."""
    above = reachable(up, [task_id]) - {task_id}
    teardowns = {t.task_id: {u for u in t.upstream if spec.task(u).setup} for t in spec.tasks if t.teardown}
    undone = {setup for teardown, setups in teardowns.items() if teardown in above for setup in setups}
    open_ = {t for t in above if spec.task(t).setup} - undone
    return open_ | {teardown for teardown, setups in teardowns.items() if setups & open_}
