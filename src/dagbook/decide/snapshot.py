"""What a decision may see.  Built by ``store``; never holds a connection or a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dagbook.spec.models import DagSpec, ResultRef
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
        return all(s in FINISHED for s, n in self.counts.items() if n)


@dataclass(frozen=True, slots=True)
class Cohort:
    """Map indices of a mapped task group whose instances look alike, so that they are judged once.

    ``states``: by task id.  ``untaken``: by branch, the tasks that it left.
    """

    indexes: tuple[int, ...]
    states: Mapping[str, TaskState]
    untaken: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as a decision sees it.

    ``lengths``: for what is mapped over, result → elements; ``None`` where the value has no length.
    ``untaken``: by branch, the tasks that all of its successful instances left.  ``cohorts``: by mapped group.
    ``past``: task → why it waits for the run before, for those with depends_on_past that must.
    ``missed``: deadlines that are marked already, by task id, "" for the run's own.
    """

    run: int
    state: RunState
    spec: DagSpec
    tasks: Mapping[str, TaskView]
    lengths: Mapping[ResultRef, int | None] = field(default_factory=dict)
    untaken: Mapping[str, frozenset[str]] = field(default_factory=dict)
    cohorts: Mapping[str, tuple[Cohort, ...]] = field(default_factory=dict)
    past: Mapping[str, str] = field(default_factory=dict)
    timeout_at: datetime | None = None
    logical_date: datetime | None = None
    queued_at: datetime | None = None
    missed: frozenset[str] = frozenset()
