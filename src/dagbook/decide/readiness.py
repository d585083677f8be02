"""May this task start?  Trigger rules as a pure function of upstream counts (SEMANTICS §2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dagbook.decide.snapshot import TaskView
from dagbook.spec.models import TriggerRule
from dagbook.states import TaskState


@dataclass(frozen=True, slots=True)
class Ready:
    pass


@dataclass(frozen=True, slots=True)
class Waiting:
    reason: str


@dataclass(frozen=True, slots=True)
class Doomed:
    to: TaskState
    reason: str


Readiness = Ready | Waiting | Doomed


@dataclass(frozen=True, slots=True)
class Upstream:
    """Counts over the direct upstream instances; ``removed`` ones are left out."""

    total: int
    success: int = 0
    failed: int = 0
    upstream_failed: int = 0
    skipped: int = 0

    @property
    def bad(self) -> int:
        return self.failed + self.upstream_failed

    @property
    def done(self) -> int:
        return self.success + self.bad + self.skipped


def count(upstream: Iterable[TaskView]) -> Upstream:
    """An unexpanded mapped upstream counts as one that is not done."""
    total = success = failed = upstream_failed = skipped = 0
    for view in upstream:
        c = view.counts
        total += view.total
        success += c.get(TaskState.SUCCESS, 0)
        failed += c.get(TaskState.FAILED, 0)
        upstream_failed += c.get(TaskState.UPSTREAM_FAILED, 0)
        skipped += c.get(TaskState.SKIPPED, 0)
    return Upstream(total, success, failed, upstream_failed, skipped)


def readiness(rule: TriggerRule, up: Upstream) -> Readiness:
    """A verdict is given at once when no later upstream state can change it, else it waits."""
    if up.total == 0 or rule is TriggerRule.ALWAYS:
        return Ready()
    if _ready(rule, up):
        return Ready()
    if _upstream_failed(rule, up):
        return Doomed(TaskState.UPSTREAM_FAILED, f"{up.bad} of {up.total} upstream tasks failed ({rule})")
    if _skipped(rule, up):
        return Doomed(TaskState.SKIPPED, _skip_reason(rule, up))
    return Waiting(f"{up.done} of {up.total} upstream tasks are done ({rule})")


def _ready(rule: TriggerRule, up: Upstream) -> bool:
    all_done = up.done == up.total
    match rule:
        case TriggerRule.ALL_SUCCESS:
            return up.success == up.total
        case TriggerRule.ALL_FAILED:
            return up.bad == up.total
        case TriggerRule.ALL_DONE:
            return all_done
        case TriggerRule.ALL_DONE_MIN_ONE_SUCCESS:
            return all_done and up.success >= 1
        case TriggerRule.ALL_SKIPPED:
            return up.skipped == up.total
        case TriggerRule.ONE_SUCCESS:
            return up.success >= 1
        case TriggerRule.ONE_FAILED:
            return up.bad >= 1
        case TriggerRule.ONE_DONE:
            return up.success + up.failed >= 1
        case TriggerRule.NONE_FAILED:
            return all_done and up.bad == 0
        case TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS:
            return all_done and up.bad == 0 and up.success >= 1
        case TriggerRule.NONE_SKIPPED:
            return all_done and up.skipped == 0
        case TriggerRule.ALWAYS:
            return True


def _upstream_failed(rule: TriggerRule, up: Upstream) -> bool:
    match rule:
        case TriggerRule.ALL_SUCCESS | TriggerRule.NONE_FAILED | TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS:
            return up.bad >= 1
        case TriggerRule.ALL_DONE_MIN_ONE_SUCCESS | TriggerRule.ONE_SUCCESS:
            return up.done == up.total and up.success == 0 and up.bad >= 1
        case _:
            return False


def _skipped(rule: TriggerRule, up: Upstream) -> bool:
    all_done = up.done == up.total
    match rule:
        case TriggerRule.ALL_SUCCESS:
            return all_done and up.skipped >= 1
        case TriggerRule.ALL_FAILED:
            return up.success + up.skipped >= 1
        case TriggerRule.ALL_SKIPPED:
            return up.success + up.bad >= 1
        case TriggerRule.ALL_DONE_MIN_ONE_SUCCESS | TriggerRule.ONE_SUCCESS | TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS:
            return up.skipped == up.total
        case TriggerRule.ONE_FAILED:
            return all_done and up.bad == 0
        case TriggerRule.ONE_DONE:
            return all_done and up.success + up.failed == 0
        case TriggerRule.NONE_SKIPPED:
            return up.skipped >= 1
        case _:
            return False


def _skip_reason(rule: TriggerRule, up: Upstream) -> str:
    return f"upstream: {up.success} success, {up.bad} failed, {up.skipped} skipped of {up.total}; {rule} can't be met"

