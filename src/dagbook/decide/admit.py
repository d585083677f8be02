"""Who gets a slot this tick.  Capacity is read under the same lock that guards the queueing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dagbook.decide.snapshot import TaskKey


@dataclass(frozen=True, slots=True)
class Candidate:
    key: TaskKey
    dag_id: str
    pool: str
    slots: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is free: slots by pool, task instances by DAG, and places in the executor."""

    pools: Mapping[str, int]
    pool_sizes: Mapping[str, int]
    dags: Mapping[str, int]
    executor: int


@dataclass(frozen=True, slots=True)
class Admission:
    """``impossible``: key → why it can never be admitted (it wants more slots than its pool has)."""

    admitted: tuple[TaskKey, ...] = ()
    held: Mapping[TaskKey, str] = field(default_factory=dict)
    impossible: Mapping[TaskKey, str] = field(default_factory=dict)


def admit(candidates: Iterable[Candidate], capacity: Capacity) -> Admission:
    """In the given order; one that doesn't fit is passed over and holds nobody else back."""
    pools, dags, room = dict(capacity.pools), dict(capacity.dags), capacity.executor
    admitted: list[TaskKey] = []
    held: dict[TaskKey, str] = {}
    impossible: dict[TaskKey, str] = {}
    for c in candidates:
        size = capacity.pool_sizes.get(c.pool)
        if size is None:
            held[c.key] = f"pool {c.pool!r} doesn't exist"
        elif c.slots > size:
            impossible[c.key] = f"wants {c.slots} slots of pool {c.pool!r}, which has {size}"
        elif room <= 0:
            held[c.key] = "the executor has no free place"
        elif pools[c.pool] < c.slots:
            held[c.key] = f"pool {c.pool!r} has {max(pools[c.pool], 0)} of {size} slots free, {c.slots} wanted"
        elif dags.get(c.dag_id, 0) <= 0:
            held[c.key] = f"DAG {c.dag_id!r} runs as many tasks at once as its max_active_tasks allows"
        else:
            pools[c.pool] -= c.slots
            dags[c.dag_id] -= 1
            room -= 1
            admitted.append(c.key)
    return Admission(tuple(admitted), held, impossible)
