"""How many instances a mapped task has (SEMANTICS §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from dagbook.decide.snapshot import TaskView
from dagbook.spec.models import DagSpec, Expansion, MapSource, ResultRef
from dagbook.states import TaskState

Lengths = Mapping[ResultRef, int | None]


@dataclass(frozen=True, slots=True)
class Refused:
    reason: str


@dataclass(frozen=True, slots=True)
class NotYet:
    """What is mapped over isn't there yet."""

    reason: str


@dataclass(frozen=True, slots=True)
class NothingThere:
    """What is mapped over will never be there: its task was skipped, or failed."""

    to: TaskState
    reason: str


def resolve(
    spec: DagSpec, expansion: Expansion, views: Mapping[str, TaskView], lengths: Lengths, limit: int
) -> int | Refused | NotYet | NothingThere:
    """The number of instances, once every task that is mapped over has ended."""
    for task_id, _, _ in expansion.refs:
        view = views[task_id]
        if not view.finished:
            return NotYet(f"waits for {task_id!r}, which it is mapped over")
        if not spec.task(task_id).mapped and not view.counts.get(TaskState.SUCCESS):
            if view.counts.get(TaskState.SKIPPED):
                return NothingThere(TaskState.SKIPPED, f"{task_id!r}, which it is mapped over, was skipped")
            return NothingThere(TaskState.UPSTREAM_FAILED, f"{task_id!r}, which it is mapped over, failed")
    return expansion_count(expansion, lengths, limit)


def expansion_count(expansion: Expansion, lengths: Lengths, limit: int) -> int | Refused:
    """The product of the sources' lengths, or why there is none."""
    sizes = []
    for source in expansion.sources:
        size = _size(source, lengths)
        if isinstance(size, Refused):
            return size
        sizes.append(size)
    total = prod(sizes)
    if total > limit:
        return Refused(f"{total} elements to map over; the limit is {limit} (DAGBOOK_MAX_MAP_LENGTH)")
    return total


def _size(source: MapSource, lengths: Lengths) -> int | Refused:
    if source.task_id is not None:
        found = lengths.get((source.task_id, source.key, source.path))
        if found is None:
            where = f"{source.task_id!r}" + "".join(f"[{step!r}]" for step in source.path)
            return Refused(f"can't map over the result of {where}: it is no list or dict (return a list, a tuple or a dict from it)")
        return found
    if source.combine is None:
        return source.length or 0
    parts = [_size(p, lengths) for p in source.parts]
    for part in parts:
        if isinstance(part, Refused):
            return part
    known = [p for p in parts if isinstance(p, int)]
    match source.combine:
        case "zip":
            return min(known)
        case "longest":
            return max(known)
    return sum(known)


def positions(sizes: Mapping[str, int], map_index: int) -> dict[str, int]:
    """Which element of each expanded argument, by name, instance ``map_index`` takes; the last argument turns fastest."""
    found: dict[str, int] = {}
    for name in reversed(list(sizes)):
        map_index, found[name] = divmod(map_index, sizes[name])
    return found
