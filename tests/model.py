"""A slow model of SEMANTICS.md, written from its words alone: how a run must end, and what may start.

It knows nothing of time or order.  Each task instance ends in one state that follows from how those above it end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SUCCESS, FAILED, SKIPPED, UPSTREAM_FAILED = "success", "failed", "skipped", "upstream_failed"
F = (FAILED, UPSTREAM_FAILED)
READY = "ready"


def _n(ups, *states):
    return sum(1 for u in ups if u in states)


def _all(ups, *states):
    return all(u in states for u in ups)


def _some(ups, *states):
    return any(u in states for u in ups)


# SEMANTICS §2, row by row, over the *final* states of all upstream instances: ready, upstream_failed, skipped.
RULES = {
    "all_success": lambda u: READY if _all(u, SUCCESS) else UPSTREAM_FAILED if _some(u, *F) else SKIPPED,
    "all_failed": lambda u: READY if _all(u, *F) else SKIPPED,
    "all_done": lambda u: READY,
    "all_done_min_one_success": lambda u: READY if _some(u, SUCCESS) else UPSTREAM_FAILED if _some(u, *F) else SKIPPED,
    "all_skipped": lambda u: READY if _all(u, SKIPPED) else SKIPPED,
    "one_success": lambda u: READY if _some(u, SUCCESS) else UPSTREAM_FAILED if _some(u, *F) else SKIPPED,
    "one_failed": lambda u: READY if _some(u, *F) else SKIPPED,
    "one_done": lambda u: READY if _some(u, SUCCESS, FAILED) else SKIPPED,
    "none_failed": lambda u: UPSTREAM_FAILED if _some(u, *F) else READY,
    "none_failed_min_one_success": lambda u: UPSTREAM_FAILED if _some(u, *F) else READY if _some(u, SUCCESS) else SKIPPED,
    "none_skipped": lambda u: SKIPPED if _some(u, SKIPPED) else READY,
    "always": lambda u: READY,
}

# When a task may start, over the states of the moment; "at once" rules need not wait for all.
AT_ONCE = {
    "one_success": lambda u: _some(u, SUCCESS),
    "one_failed": lambda u: _some(u, *F),
    "one_done": lambda u: _some(u, SUCCESS, FAILED),
    "always": lambda u: True,
}


def may_start(rule: str, ups: list[str]) -> bool:
    """``ups``: states of the moment of all upstream instances; other words than the four mean "not done"."""
    if not ups:
        return True
    if rule in AT_ONCE:
        return AT_ONCE[rule](ups)
    return _all(ups, SUCCESS, *F, SKIPPED) and RULES[rule](ups) == READY


@dataclass
class ModelTask:
    """``over``: the task whose result it is mapped over, or a number of elements.  ``group``: the mapped group it is in."""

    name: str
    rule: str
    ups: list[str]
    over: str | int | None = None
    group: str | None = None
    branch: bool = False
    short_circuits: bool = False
    setup: bool = False
    teardown: bool = False


@dataclass
class Model:
    """``outcome(task, index)`` → state of an instance that runs; ``length(task)`` → elements of its result;
    ``untaken(task, index)`` → what a branch leaves.  ``fixed``: instances whose end is given, by task."""

    tasks: dict[str, ModelTask]
    outcome: Callable[[str, int], str]
    length: Callable[[str], int]
    untaken: Callable[[str, int], set[str]]
    limit: int
    fixed: dict[str, dict[int, str]] = field(default_factory=dict)

    def solve(self) -> dict[str, dict[int, str]]:
        """Task → index → state; -1 where it has no instances of its own."""
        done: dict[str, dict[int, str]] = {}
        for t in self.tasks.values():
            done[t.name] = dict(self.fixed[t.name]) if t.name in self.fixed else self._of(t, done)
        return done

    def _of(self, t: ModelTask, done) -> dict[int, str]:
        if t.over is None:
            verdict = self._verdict(t, done, None)
            return {-1: self.outcome(t.name, -1) if verdict == READY else verdict}
        if t.group is not None:
            return self._in_group(t, done)
        verdict = self._verdict(t, done, None)
        if verdict != READY:
            # What was told apart already stays so: a literal list has its instances from the start.
            n = t.over if isinstance(t.over, int) and 0 < t.over <= self.limit else None
            return {-1: verdict} if n is None else dict.fromkeys(range(n), verdict)
        size = self._size(t, done)
        if isinstance(size, str):
            return {-1: size}
        return {i: self.outcome(t.name, i) for i in range(size)} if size else {-1: SKIPPED}

    def _in_group(self, t: ModelTask, done) -> dict[int, str]:
        size = self._size(t, done)
        if isinstance(size, str) or size == 0:
            verdict = self._verdict(t, done, None)
            return {-1: verdict if verdict != READY else size if isinstance(size, str) else SKIPPED}
        found = {}
        for i in range(size):
            verdict = self._verdict(t, done, i)
            found[i] = self.outcome(t.name, i) if verdict == READY else verdict
        return found

    def _size(self, t: ModelTask, done) -> int | str:
        """The number of elements, or how the task ends without them."""
        if isinstance(t.over, int):
            size = t.over
        else:
            states = done[t.over]
            mapped = self.tasks[t.over].over is not None
            if mapped:
                size = _n(states.values(), SUCCESS)
            elif states[-1] == SUCCESS:
                size = self.length(t.over)
            else:
                return SKIPPED if states[-1] == SKIPPED else UPSTREAM_FAILED
        return FAILED if size > self.limit else size

    def _verdict(self, t: ModelTask, done, index: int | None) -> str:
        seen = self.seen(t, done, index)
        if seen is None:
            return SKIPPED
        ups, setups = seen
        if t.teardown:
            return READY if not setups or SUCCESS in setups else UPSTREAM_FAILED if _some(setups, *F) else SKIPPED
        return RULES[t.rule](ups) if ups else READY

    def seen(self, t: ModelTask, done, index: int | None) -> tuple[list[str], list[str]] | None:
        """States of all upstream instances as it sees them, and of the setups among them; ``None``: a branch skips it."""
        for b in self.tasks.values():
            states = self._of_upstream(b, t, done, index)
            left = self._left(b, states)
            if t.name in left and _all(states.values(), SUCCESS) and not self._reached_otherwise(b.name, left, t.name):
                return None
        ups, setups = [], []
        for u in t.ups:
            upstream = self.tasks[u]
            states = self._of_upstream(upstream, t, done, index)
            if t.name in self._left(upstream, states):
                over = _all(states.values(), SUCCESS, *F, SKIPPED)
                states = {i: (SKIPPED if over else "unknown") if s == SUCCESS else s for i, s in states.items()}
            ups += states.values()
            setups += states.values() if upstream.setup else ()
        return ups, setups

    def _of_upstream(self, u: ModelTask, t: ModelTask, done, index: int | None) -> dict[int, str]:
        """Within a mapped group an index sees its own alone."""
        states = done.get(u.name, {})
        return {index: states[index]} if index is not None and u.group == t.group and index in states else states

    def _left(self, b: ModelTask, states: dict[int, str]) -> set[str]:
        """What those of a branch's instances that succeeded all leave."""
        if not b.branch:
            return set()
        left = [self.untaken(b.name, i) for i, s in states.items() if s == SUCCESS]
        return set.intersection(*left) if left else set()

    def _reached_otherwise(self, branch: str, left: set[str], name: str) -> bool:
        """A way from what the branch took leads to it."""
        todo = [t.name for t in self.tasks.values() if branch in t.ups and t.name not in left]
        seen = set()
        while todo:
            at = todo.pop()
            if at == name:
                return True
            if at not in seen:
                seen.add(at)
                todo += [t.name for t in self.tasks.values() if at in t.ups]
        return False

    def run_state(self, done) -> str:
        inner = {u for t in self.tasks.values() if not t.teardown for u in t.ups}
        leaves = [t for t in self.tasks if t not in inner and not self.tasks[t].teardown]
        return FAILED if any(s in F for t in leaves for s in done[t].values()) else SUCCESS
