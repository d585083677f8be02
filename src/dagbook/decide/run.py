"""The scheduler's judgement on one run: snapshot and time in, moves out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from dagbook.decide import deadlines, groups
from dagbook.decide import transitions as move
from dagbook.decide.expand import NothingThere, NotYet, Refused, resolve
from dagbook.decide.readiness import Doomed, Readiness, Ready, Waiting, readiness
from dagbook.decide.snapshot import Cohort, RunView, TaskView
from dagbook.decide.transitions import Expand, Move
from dagbook.decide.upstream import count, left_out, may_be_skipped_by, seen_by
from dagbook.spec.models import TaskSpec
from dagbook.states import FAILURES, FINISHED, RunState, TaskState

_WAITING = (TaskState.UP_FOR_RETRY, TaskState.UP_FOR_RESCHEDULE)
#: States from which something will happen without the scheduler's doing.
_ALIVE = (
    TaskState.SCHEDULED,
    TaskState.QUEUED,
    TaskState.RUNNING,
    TaskState.DEFERRED,
    TaskState.RESTARTING,
    *_WAITING,
)


@dataclass(frozen=True, slots=True)
class RunDecision:
    """``blocked``: task → why it waits, the text that people see.

    ``stalled``: nothing of it can go on before the run before it does.  ``timed_out``: it must be stopped.
    ``missed``: deadlines that have just passed unmet.
    """

    moves: tuple[Move, ...] = ()
    expansions: tuple[Expand, ...] = ()
    blocked: Mapping[str, str] = field(default_factory=dict)
    outcome: RunState | None = None
    reason: str | None = None
    stalled: bool = False
    timed_out: bool = False
    missed: tuple[str, ...] = ()


def decide_run(run: RunView, now: datetime, max_map_length: int) -> RunDecision:
    """Move every task that can move; name the reason for each that can't.

    Walks once in topological order and carries decided states forward, so that a failed root
    dooms its whole subtree in one tick.
    """
    if run.timeout_at is not None and now >= run.timeout_at:
        reason = f"ran longer than its dagrun_timeout of {run.spec.dagrun_timeout}"
        return RunDecision(outcome=RunState.FAILED, reason=reason, timed_out=True, missed=deadlines.missed(run, run.tasks, False, now))
    walk = _Walk(run, now, max_map_length)
    for task in run.spec.tasks:
        walk.visit(task)
    outcome, why = _outcome(run, walk)
    return RunDecision(
        tuple(walk.moves),
        tuple(walk.expansions),
        walk.blocked,
        outcome,
        why,
        stalled=walk.stalled,
        missed=deadlines.missed(run, walk.views, outcome is not None, now),
    )


class _Walk:
    """One pass over the tasks; ``views`` and ``cohorts`` are carried forward as it decides."""

    def __init__(self, run: RunView, now: datetime, max_map_length: int):
        self.run, self.now, self.limit = run, now, max_map_length
        self.views = dict(run.tasks)
        self.cohorts = dict(run.cohorts)
        self.moves: list[Move] = []
        self.expansions: list[Expand] = []
        self.blocked: dict[str, str] = {}
        self.left_out = left_out(run.spec, run.untaken, run.tasks)
        self.may_be_skipped_by = may_be_skipped_by(run.spec)
        self._group_sizes: dict[str, int | Refused | NotYet | NothingThere] = {}

    def visit(self, task: TaskSpec) -> None:
        view = self.views[task.task_id]
        if view.due:
            waiting = [s for s in _WAITING if view.counts.get(s)]
            self.moves += [move.wake(self.run.run, task.task_id, s, self.now) for s in waiting]
            view = self.views[task.task_id] = _carry(view, waiting, TaskState.SCHEDULED)
        if not view.counts.get(TaskState.NONE):
            return
        if task.mapped_group is not None:
            self._visit_in_group(task, task.mapped_group)
        else:
            self._take(task, self._judge(task))

    def _take(self, task: TaskSpec, decided: Move | Expand | Waiting) -> None:
        view = self.views[task.task_id]
        match decided:
            case Waiting(reason):
                self.blocked[task.task_id] = reason
            case Expand():
                self.expansions.append(decided)
                self.views[task.task_id] = _resize(view, decided)
            case Move():
                self.moves.append(decided)
                self.views[task.task_id] = _carry(view, [TaskState.NONE], decided.to)

    def _judge(self, task: TaskSpec) -> Move | Expand | Waiting:
        run = self.run.run
        match self._verdict(task):
            case Waiting() as waiting:
                return waiting
            case Doomed(to, reason):
                return move.doom(run, task.task_id, to, reason)
            case Ready():
                return self._expand(task) if task.expansion is not None else move.schedule(run, task.task_id)

    def _verdict(self, task: TaskSpec, cohort: Cohort | None = None, left: Mapping[str, str] | None = None) -> Readiness:
        """By branches above it, its trigger rule, and the run before."""
        for branch in (self.left_out.get(task.task_id), (left or {}).get(task.task_id)):
            if branch is not None:
                return Doomed(TaskState.SKIPPED, f"{branch!r} did not choose it")
        seen = seen_by(task, self.run.spec, self.views, self.run.untaken, cohort)
        verdict = readiness(task.trigger_rule, count(v for _, v in seen), count(v for t, v in seen if t.setup))
        final = isinstance(verdict, Doomed) and verdict.to is TaskState.SKIPPED
        if not final and (branch := self._unanswered(task, cohort)):
            return Waiting(f"waits for {branch!r}, which may skip it")
        if isinstance(verdict, Doomed):
            return verdict
        if self.run.spec.fail_fast and not task.teardown and (failed := self._failed_task()):
            return Doomed(TaskState.SKIPPED, f"fail_fast: task {failed!r} failed")
        if isinstance(verdict, Ready) and task.task_id in self.run.past:
            return Waiting(self.run.past[task.task_id])
        return verdict

    def _unanswered(self, task: TaskSpec, cohort: Cohort | None) -> str | None:
        """A branch that is not done and may skip the task: what comes of the task must not depend on which of its upstreams ends first."""
        for branch in self.may_be_skipped_by.get(task.task_id, ()):
            own = cohort is not None and self.run.spec.task(branch).mapped_group == task.mapped_group and branch in cohort.states
            finished = cohort.states[branch] in FINISHED if cohort is not None and own else self.views[branch].finished
            if not finished:
                return branch
        return None

    def _failed_task(self) -> str | None:
        return next((t for t, v in self.views.items() if v.counts.get(TaskState.FAILED)), None)

    def _expand(self, task: TaskSpec) -> Move | Expand | Waiting:
        assert task.expansion is not None
        run, view = self.run.run, self.views[task.task_id]
        match resolve(self.run.spec, task.expansion, self.views, self.run.lengths, self.limit):
            case NotYet(reason):
                return Waiting(reason)
            case NothingThere(to, reason):
                return move.doom(run, task.task_id, to, reason)
            case Refused(reason):
                return move.refuse(run, task.task_id, reason)
            case 0 if not view.expanded:
                return move.doom(run, task.task_id, TaskState.SKIPPED, "nothing to map over: 0 elements")
            case n:
                same = view.expanded and n == view.total
                return move.schedule(run, task.task_id) if same else Expand(run, task.task_id, n)

    # Mapped task groups: expanded together, then each index on its own ------------------------

    def _visit_in_group(self, task: TaskSpec, group: str) -> None:
        size = self._group_size(task, group)
        if not isinstance(size, int) or size == 0:
            self._take(task, self._without_instances(task, size))
            return
        view = self.views[task.task_id]
        if not view.expanded or view.total != size:
            expand = Expand(self.run.run, task.task_id, size, TaskState.NONE)
            self._take(task, expand)
            self.cohorts[group] = groups.resized(self.cohorts.get(group, ()), task.task_id, size)
        settled: list[Cohort] = []
        for cohort in self.cohorts.get(group, ()):
            settled.append(self._judge_cohort(task, cohort))
        self.cohorts[group] = tuple(settled)

    def _group_size(self, task: TaskSpec, group: str) -> int | Refused | NotYet | NothingThere:
        if group not in self._group_sizes:
            assert task.expansion is not None
            self._group_sizes[group] = resolve(self.run.spec, task.expansion, self.views, self.run.lengths, self.limit)
        return self._group_sizes[group]

    def _without_instances(self, task: TaskSpec, size: int | Refused | NotYet | NothingThere) -> Move | Waiting:
        """A placeholder goes by its upstreams as a whole; where it could run, what it is mapped over decides."""
        if isinstance(size, NotYet) and self._told_apart_above(task):
            return Waiting(size.reason)
        verdict = self._verdict(task)
        if isinstance(verdict, Doomed):
            return move.doom(self.run.run, task.task_id, verdict.to, verdict.reason)
        if isinstance(verdict, Waiting):
            return verdict
        match size:
            case NotYet(reason):
                return Waiting(reason)
            case Refused(reason):
                return move.refuse(self.run.run, task.task_id, reason)
            case NothingThere(to, reason):
                return move.doom(self.run.run, task.task_id, to, reason)
            case _:
                return move.doom(self.run.run, task.task_id, TaskState.SKIPPED, "nothing to map over: 0 elements")

    def _told_apart_above(self, task: TaskSpec) -> bool:
        """Something above it in its group has instances from before a clear, which say nothing of the group as a whole."""
        above = [self.run.spec.task(u) for u in task.upstream]
        return any(u.mapped_group == task.mapped_group and self.views[u.task_id].expanded for u in above)

    def _judge_cohort(self, task: TaskSpec, cohort: Cohort) -> Cohort:
        if cohort.states.get(task.task_id) is not TaskState.NONE:
            return cohort
        verdict = self._verdict(task, cohort, left_out(self.run.spec, cohort.untaken, self.views, task.mapped_group))
        match verdict:
            case Waiting(reason):
                self.blocked.setdefault(task.task_id, reason)
                return cohort
            case Doomed(to, reason):
                decided = move.doom(self.run.run, task.task_id, to, reason, cohort.indexes)
            case Ready():
                decided = move.schedule(self.run.run, task.task_id, cohort.indexes)
        self.moves.append(decided)
        self.views[task.task_id] = _shift(self.views[task.task_id], decided.to, len(cohort.indexes))
        return replace(cohort, states={**cohort.states, task.task_id: decided.to})

    @property
    def stalled(self) -> bool:
        """Something waits for the run before, and nothing else is going on."""
        return bool(self.run.past.keys() & self.blocked.keys()) and not self.alive

    @property
    def alive(self) -> bool:
        return any(v.counts.get(s) for v in self.views.values() for s in _ALIVE)


def _carry(view: TaskView, gone: list[TaskState], to: TaskState) -> TaskView:
    counts = {s: n for s, n in view.counts.items() if s not in gone}
    counts[to] = counts.get(to, 0) + sum(view.counts.get(s, 0) for s in gone)
    return replace(view, counts=counts)


def _shift(view: TaskView, to: TaskState, n: int) -> TaskView:
    counts = dict(view.counts)
    counts[TaskState.NONE] = counts.get(TaskState.NONE, 0) - n
    counts[to] = counts.get(to, 0) + n
    return replace(view, counts=counts)


def _resize(view: TaskView, expand: Expand) -> TaskView:
    """As ``store.apply`` will leave it: what had ended stays, the rest of ``count`` is in ``expand.to``."""
    open_or_gone = (TaskState.NONE, TaskState.REMOVED)
    kept: dict[TaskState, int] = {s: n for s, n in view.counts.items() if s not in open_or_gone} if view.expanded else {}
    missing = expand.count - sum(kept.values())
    counts: dict[TaskState, int] = {**kept, expand.to: kept.get(expand.to, 0) + max(missing, 0)}
    return TaskView(counts if expand.count else {TaskState.SKIPPED: 1})


def _outcome(run: RunView, walk: _Walk) -> tuple[RunState | None, str | None]:
    """By the leaves once everything is over; ``deadlock`` when nothing can ever run again."""
    views = walk.views
    if all(v.finished for v in views.values()):
        bad = [t for t in run.spec.leaves if any(views[t].counts.get(s) for s in FAILURES)]
        if bad:
            return RunState.FAILED, f"task {bad[0]!r} failed" if len(bad) == 1 else f"{len(bad)} last tasks failed"
        return RunState.SUCCESS, None
    if not walk.alive and not walk.stalled:
        return RunState.FAILED, "deadlock"
    return None, None
