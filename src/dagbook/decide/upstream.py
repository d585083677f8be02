"""What a task sees of its upstreams: counts, and the edges that a branch left untaken."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dagbook.decide.snapshot import Cohort, TaskView
from dagbook.spec.models import DagSpec, TaskSpec
from dagbook.states import TaskState

_S = TaskState


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


def count(views: Iterable[TaskView]) -> Upstream:
    """An unexpanded mapped upstream counts as one that is not done."""
    total = success = failed = upstream_failed = skipped = 0
    for view in views:
        c = view.counts
        total += view.total
        success += c.get(_S.SUCCESS, 0)
        failed += c.get(_S.FAILED, 0)
        upstream_failed += c.get(_S.UPSTREAM_FAILED, 0)
        skipped += c.get(_S.SKIPPED, 0)
    return Upstream(total, success, failed, upstream_failed, skipped)


def seen_by(
    task: TaskSpec, spec: DagSpec, views: Mapping[str, TaskView], untaken: Mapping[str, frozenset[str]], cohort: Cohort | None = None
) -> list[tuple[TaskSpec, TaskView]]:
    """Each direct upstream as ``task`` sees it: within a mapped group its own index's instance, over an untaken edge as skipped."""
    found = []
    for upstream_id in task.upstream:
        upstream, view = spec.task(upstream_id), views[upstream_id]
        if cohort is not None and upstream.mapped_group == task.mapped_group and upstream_id in cohort.states:
            view = TaskView({cohort.states[upstream_id]: 1})
        left = cohort.untaken if cohort is not None and upstream_id in cohort.untaken else untaken
        if task.task_id in left.get(upstream_id, ()):
            view = _left(view)
        found.append((upstream, view))
    return found


def _left(view: TaskView) -> TaskView:
    """A branch that has left a task: skipped where it succeeded; unknown until its last instance has answered, which may take it."""
    counts = {**view.counts, _S.SUCCESS: 0}
    to = _S.SKIPPED if view.finished else _S.RUNNING
    return replace(view, counts={**counts, to: counts.get(to, 0) + view.counts.get(_S.SUCCESS, 0)})


def left_out(
    spec: DagSpec, untaken: Mapping[str, frozenset[str]], views: Mapping[str, TaskView], within: str | None = None
) -> dict[str, str]:
    """Task → the branch that skips it: all its instances leave it, and no path that the branch took leads to it.

    A branch and a task of one mapped group are judged index by index, ``within`` that group; all others as a whole.
    """
    if not untaken:
        return {}
    down = below(spec)
    found: dict[str, str] = {}
    for branch, left in untaken.items():
        group = spec.task(branch).mapped_group
        as_a_whole = group is None or group != within
        if as_a_whole and any(n for s, n in views[branch].counts.items() if s not in (_S.SUCCESS, _S.REMOVED)):
            continue  # one that is not done may take it; for one that failed the trigger rule speaks
        reached = reachable(down, [t for t in down.get(branch, ()) if t not in left])
        for t in left - reached:
            shared = group if group == spec.task(t).mapped_group else None
            if shared == within:
                found[t] = branch
    return found


def may_be_skipped_by(spec: DagSpec) -> dict[str, list[str]]:
    """Task → the branches whose answer may skip it."""
    found: dict[str, list[str]] = {}
    branches = [t for t in spec.tasks if t.branches]
    if not branches:
        return found
    down = below(spec)
    for branch in branches:
        direct = down[branch.task_id]
        for t in reachable(down, direct) if branch.short_circuits else direct:
            if not spec.task(t).teardown:
                found.setdefault(t, []).append(branch.task_id)
    return found


def below(spec: DagSpec) -> dict[str, list[str]]:
    """Task → those directly downstream of it."""
    found: dict[str, list[str]] = {t.task_id: [] for t in spec.tasks}
    for t in spec.tasks:
        for u in t.upstream:
            found[u].append(t.task_id)
    return found


def reachable(edges: Mapping[str, Iterable[str]], start: Iterable[str]) -> set[str]:
    """``start`` and all that ``edges`` lead to from there."""
    seen: set[str] = set()
    todo = deque(start)
    while todo:
        t = todo.popleft()
        if t not in seen:
            seen.add(t)
            todo.extend(edges.get(t, ()))
    return seen
