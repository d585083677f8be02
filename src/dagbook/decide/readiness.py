"""May this task start?  Trigger rules as a pure function of upstream counts (SEMANTICS §2)."""

from __future__ import annotations

from dataclasses import dataclass

from dagbook.decide.upstream import Upstream
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


def readiness(rule: TriggerRule, up: Upstream, setups: Upstream | None = None) -> Readiness:
    """A verdict is given at once when no later upstream state can change it, else it waits.

    ``setups``: those of ``up`` that are setups, which a teardown's rule looks at.
    """
    if rule is TriggerRule.ALL_DONE_SETUP_SUCCESS:
        return _teardown(up, setups or Upstream(0))
    if up.total == 0:
        return Ready()
    if _ready(rule, up):
        return Ready()
    if _upstream_failed(rule, up):
        return Doomed(TaskState.UPSTREAM_FAILED, f"{up.bad} of {up.total} upstream tasks failed ({rule})")
    if _skipped(rule, up):
        return Doomed(TaskState.SKIPPED, _skip_reason(rule, up))
    return Waiting(f"{up.done} of {up.total} upstream tasks are done ({rule})")


def _teardown(up: Upstream, setups: Upstream) -> Readiness:
    """It cleans up after setups that have succeeded, once everything between is over."""
    if setups.total and setups.done == setups.total and not setups.success:
        to = TaskState.UPSTREAM_FAILED if setups.bad else TaskState.SKIPPED
        return Doomed(to, f"none of its {setups.total} setups succeeded")
    if up.done == up.total:
        return Ready()
    return Waiting(f"{up.done} of {up.total} upstream tasks are done (teardown)")


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
        case _:
            return rule is TriggerRule.ALWAYS


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
            return all_done
        case TriggerRule.NONE_SKIPPED:
            return up.skipped >= 1
        case _:
            return False


def _skip_reason(rule: TriggerRule, up: Upstream) -> str:
    return f"upstream: {up.success} success, {up.bad} failed, {up.skipped} skipped of {up.total}; {rule} can't be met"
