"""How many instances a mapped task has (SEMANTICS §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from dagbook.spec.models import Expansion, TaskSpec


@dataclass(frozen=True, slots=True)
class Refused:
    reason: str


def expansion_count(
    task: TaskSpec, lengths: Mapping[tuple[str, str], int | None], limit: int
) -> int | Refused:
    """The product of the sources' lengths, or why there is none."""
    assert task.expansion is not None
    sizes = []
    for source in task.expansion.sources:
        size = source.length if source.task_id is None else lengths.get((source.task_id, source.key))
        if size is None:
            return Refused(
                f"can't map over the result of {source.task_id!r}: it is no list or dict "
                "(return a list, a tuple or a dict from it)"
            )
        sizes.append(size)
    total = prod(sizes)
    if total > limit:
        return Refused(f"{total} elements to map over; the limit is {limit} (DAGBOOK_MAX_MAP_LENGTH)")
    return total


def positions(expansion: Expansion, sizes: Mapping[str, int], map_index: int) -> dict[str, int]:
    """Which element of each expanded argument instance ``map_index`` takes; the last argument turns fastest."""
    found: dict[str, int] = {}
    for source in reversed(expansion.sources):
        map_index, found[source.argument] = divmod(map_index, sizes[source.argument])
    return found
