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
    #: max_active_tis_per_dag, max_active_tis_per_dagrun.
    most_per_dag: int | None = None
    most_per_run: int | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is free: slots by pool, task instances by DAG, and places in the executor.

    ``active``: of tasks with a limit of their own, instances that are queued, running or deferred, by DAG and by run.
    """

    pools: Mapping[str, int]
    pool_sizes: Mapping[str, int]
    dags: Mapping[str, int]
    executor: int
    active_in_dag: Mapping[tuple[str, str], int] = field(default_factory=dict)
    active_in_run: Mapping[tuple[int, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Admission:
    """``impossible``: key → why it can never be admitted (it wants more slots than its pool has)."""

    admitted: tuple[TaskKey, ...] = ()
    held: Mapping[TaskKey, str] = field(default_factory=dict)
    impossible: Mapping[TaskKey, str] = field(default_factory=dict)


def admit(candidates: Iterable[Candidate], capacity: Capacity) -> Admission:
    """In the given order; one that doesn't fit is passed over and holds nobody else back."""
    pools, dags, room = dict(capacity.pools), dict(capacity.dags), capacity.executor
    in_dag, in_run = dict(capacity.active_in_dag), dict(capacity.active_in_run)
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
        elif c.most_per_dag is not None and in_dag.get((c.dag_id, c.key.task_id), 0) >= c.most_per_dag:
            held[c.key] = f"{c.most_per_dag} of {c.most_per_dag} instances of the task are active in all runs (max_active_tis_per_dag)"
        elif c.most_per_run is not None and in_run.get((c.key.run, c.key.task_id), 0) >= c.most_per_run:
            held[c.key] = f"{c.most_per_run} of {c.most_per_run} instances of the task are active in this run (max_active_tis_per_dagrun)"
        else:
            in_dag[c.dag_id, c.key.task_id] = in_dag.get((c.dag_id, c.key.task_id), 0) + 1
            in_run[c.key.run, c.key.task_id] = in_run.get((c.key.run, c.key.task_id), 0) + 1
            pools[c.pool] -= c.slots
            dags[c.dag_id] -= 1
            room -= 1
            admitted.append(c.key)
    return Admission(tuple(admitted), held, impossible)
