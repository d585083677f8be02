"""The scheduler's judgement on one run: snapshot and time in, moves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from dagbook.decide import transitions as move
from dagbook.decide.expand import Refused, expansion_count
from dagbook.decide.readiness import Doomed, Ready, Waiting, count, readiness
from dagbook.decide.snapshot import RunView, TaskView
from dagbook.decide.transitions import Expand, Move
from dagbook.spec.models import TaskSpec
from dagbook.states import FAILURES, RunState, TaskState

_WAITING = (TaskState.UP_FOR_RETRY, TaskState.UP_FOR_RESCHEDULE)
#: States from which something will happen without the scheduler's doing.
_ALIVE = (
    TaskState.SCHEDULED, TaskState.QUEUED, TaskState.RUNNING, TaskState.DEFERRED, TaskState.RESTARTING, *_WAITING,
)


@dataclass(frozen=True, slots=True)
class RunDecision:
    """``blocked``: task → why it waits, the text that people see."""

    moves: tuple[Move, ...] = ()
    expansions: tuple[Expand, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    outcome: RunState | None = None
    reason: str | None = None


def decide_run(run: RunView, now: datetime, max_map_length: int) -> RunDecision:
    """Move every task that can move; name the reason for each that can't.

    Walks once in topological order and carries decided states forward, so that a failed root
    dooms its whole subtree in one tick.
    """
    views = dict(run.tasks)
    moves: list[Move] = []
    expansions: list[Expand] = []
    blocked: dict[str, str] = {}
    for task in run.spec.tasks:
        view = views[task.task_id]
        if view.due:
            waiting = [s for s in _WAITING if view.counts.get(s)]
            moves += [move.wake(run.run, task.task_id, s, now) for s in waiting]
            view = _carry(view, waiting, TaskState.SCHEDULED)
        if view.counts.get(TaskState.NONE):
            decided = _decide_task(run, task, views, max_map_length)
            match decided:
                case Waiting(reason):
                    blocked[task.task_id] = reason
                case Expand():
                    expansions.append(decided)
                    view = TaskView({TaskState.SCHEDULED: decided.count})
                case Move():
                    moves.append(decided)
                    view = _carry(view, [TaskState.NONE], decided.to)
        views[task.task_id] = view
    return RunDecision(tuple(moves), tuple(expansions), blocked, *_outcome(run, views))


def _decide_task(
    run: RunView, task: TaskSpec, views: Mapping[str, TaskView], max_map_length: int
) -> Move | Expand | Waiting:
    match readiness(task.trigger_rule, count(views[u] for u in task.upstream)):
        case Waiting() as waiting:
            return waiting
        case Doomed(to, reason):
            return move.doom(run.run, task.task_id, to, reason)
        case Ready():
            if views[task.task_id].expanded:
                return move.schedule(run.run, task.task_id)
            match expansion_count(task, run.lengths, max_map_length):
                case Refused(reason):
                    return move.refuse(run.run, task.task_id, reason)
                case 0:
                    return move.doom(run.run, task.task_id, TaskState.SKIPPED, "nothing to map over: 0 elements")
                case n:
                    return Expand(run.run, task.task_id, n)


def _carry(view: TaskView, gone: list[TaskState], to: TaskState) -> TaskView:
    counts = {s: n for s, n in view.counts.items() if s not in gone}
    counts[to] = counts.get(to, 0) + sum(view.counts.get(s, 0) for s in gone)
    return replace(view, counts=counts)


def _outcome(run: RunView, views: Mapping[str, TaskView]) -> tuple[RunState | None, str | None]:
    """By the leaves once everything is over; ``deadlock`` when nothing can ever run again."""
    if all(v.finished for v in views.values()):
        bad = [t for t in run.spec.leaves if any(views[t].counts.get(s) for s in FAILURES)]
        if bad:
            return RunState.FAILED, f"task {bad[0]!r} failed" if len(bad) == 1 else f"{len(bad)} last tasks failed"
        return RunState.SUCCESS, None
    if not any(v.counts.get(s) for v in views.values() for s in _ALIVE):
        return RunState.FAILED, "deadlock"
    return None, None
