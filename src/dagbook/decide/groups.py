"""Cohorts of a mapped task group as its size changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dagbook.decide.snapshot import Cohort
from dagbook.states import TaskState


def resized(cohorts: Sequence[Cohort], task_id: str, size: int) -> tuple[Cohort, ...]:
    """Indices 0 … size-1 all have an instance of ``task_id``; those that had none start undecided."""
    found = []
    known: set[int] = set()
    for cohort in cohorts:
        indexes = tuple(i for i in cohort.indexes if i < size)
        known.update(indexes)
        state = cohort.states.get(task_id, TaskState.NONE)
        state = TaskState.NONE if state is TaskState.REMOVED else state
        if indexes:
            found.append(replace(cohort, indexes=indexes, states={**cohort.states, task_id: state}))
    missing = tuple(i for i in range(size) if i not in known)
    if missing:
        found.append(Cohort(missing, {task_id: TaskState.NONE}))
    return tuple(found)
