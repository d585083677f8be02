"""What a decision may see.  Built by ``store``; never holds a connection or a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dagbook.spec.models import DagSpec
from dagbook.states import FINISHED, RunState, TaskState

UNMAPPED = -1


@dataclass(frozen=True, slots=True, order=True)
class TaskKey:
    """One task instance; ``run`` is the run's number in the database."""

    run: int
    task_id: str
    map_index: int = UNMAPPED


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task within a run: how many of its instances are in which state.

    ``expanded`` is false while a mapped task has only its placeholder.  ``due`` counts the waiting
    (retry, reschedule) whose time has come.
    """

    counts: Mapping[TaskState, int]
    expanded: bool = True
    due: int = 0

    @property
    def total(self) -> int:
        return sum(n for s, n in self.counts.items() if s is not TaskState.REMOVED)

    @property
    def finished(self) -> bool:
        return self.expanded_or_over and all(s in FINISHED for s, n in self.counts.items() if n)

    @property
    def expanded_or_over(self) -> bool:
        return self.expanded or TaskState.NONE not in self.counts


@dataclass(frozen=True, slots=True)
class RunView:
    """``lengths``: for mapped sources, (task_id, key) → elements; ``None`` where the value has no length."""

    run: int
    state: RunState
    spec: DagSpec
    tasks: Mapping[str, TaskView]
    lengths: Mapping[tuple[str, str], int | None] = field(default_factory=dict)
