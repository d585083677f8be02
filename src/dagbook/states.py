"""The words the whole system shares: task states, run states, and the one table of legal moves."""

from __future__ import annotations

from enum import StrEnum


class TaskState(StrEnum):
    """A task instance's state; ``NONE`` is stored as SQL ``NULL``'s readable twin, ``'none'``."""

    NONE = "none"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    DEFERRED = "deferred"
    UP_FOR_RESCHEDULE = "up_for_reschedule"
    UP_FOR_RETRY = "up_for_retry"
    RESTARTING = "restarting"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"
    REMOVED = "removed"


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


class RunType(StrEnum):
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"
    DATASET = "dataset"


_S = TaskState

FINISHED = frozenset({_S.SUCCESS, _S.FAILED, _S.SKIPPED, _S.UPSTREAM_FAILED, _S.REMOVED})
FAILURES = frozenset({_S.FAILED, _S.UPSTREAM_FAILED})
#: States in which an instance holds its pool slots.
OCCUPYING = frozenset({_S.QUEUED, _S.RUNNING})
FINISHED_RUNS = frozenset({RunState.SUCCESS, RunState.FAILED})

MOVES: dict[TaskState, frozenset[TaskState]] = {
    _S.NONE: frozenset({_S.SCHEDULED, _S.UPSTREAM_FAILED, _S.SKIPPED, _S.REMOVED, _S.FAILED}),
    _S.SCHEDULED: frozenset({_S.QUEUED}),
    _S.QUEUED: frozenset({_S.RUNNING, _S.SCHEDULED, _S.FAILED}),
    _S.RUNNING: frozenset(
        {
            _S.SUCCESS,
            _S.FAILED,
            _S.UP_FOR_RETRY,
            _S.SKIPPED,
            _S.DEFERRED,
            _S.UP_FOR_RESCHEDULE,
            _S.RESTARTING,
        }
    ),
    _S.DEFERRED: frozenset({_S.SCHEDULED, _S.FAILED}),
    _S.UP_FOR_RESCHEDULE: frozenset({_S.SCHEDULED}),
    _S.UP_FOR_RETRY: frozenset({_S.SCHEDULED}),
    _S.RESTARTING: frozenset({_S.NONE}),
    **{s: frozenset({_S.NONE}) for s in FINISHED},
}
