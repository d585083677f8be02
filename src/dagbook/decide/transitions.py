"""What a decision may say.  One named constructor per legal move; ``store.apply`` writes them, guarded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dagbook.states import MOVES, TaskState


@dataclass(frozen=True, slots=True)
class Move:
    """Every instance of ``task_id`` in state ``expect`` goes to ``to``; others are left as they are.

    ``due_by``: only those whose waiting time is over by then.  ``indexes``: only those map indices.
    """

    run: int
    task_id: str
    expect: TaskState
    to: TaskState
    reason: str | None = None
    due_by: datetime | None = None
    indexes: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.to not in MOVES[self.expect]:
            raise ValueError(f"illegal move {self.expect} -> {self.to} of {self.task_id}")


@dataclass(frozen=True, slots=True)
class Expand:
    """A mapped task has instances 0 … count-1 now, those that had none in state ``to``.

    Its placeholder goes, what was cleared goes to ``to`` too, and cleared instances beyond become ``removed``.
    """

    run: int
    task_id: str
    count: int
    to: TaskState = TaskState.SCHEDULED


def schedule(run: int, task_id: str, indexes: tuple[int, ...] | None = None) -> Move:
    return Move(run, task_id, TaskState.NONE, TaskState.SCHEDULED, indexes=indexes)


def wake(run: int, task_id: str, waiting: TaskState, now: datetime) -> Move:
    """A retry or reschedule whose time has come."""
    return Move(run, task_id, waiting, TaskState.SCHEDULED, due_by=now)


def doom(run: int, task_id: str, to: TaskState, reason: str, indexes: tuple[int, ...] | None = None) -> Move:
    """It can never run: ``upstream_failed`` or ``skipped``."""
    return Move(run, task_id, TaskState.NONE, to, reason, indexes=indexes)


def refuse(run: int, task_id: str, reason: str) -> Move:
    """A mapped task that can't be expanded fails before it starts."""
    return Move(run, task_id, TaskState.NONE, TaskState.FAILED, reason)
