"""A run in memory: what ``store`` keeps in tables, moved by the same pure decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dagbook.decide.expand import Refused, expansion_count
from dagbook.decide.run import RunDecision
from dagbook.decide.snapshot import UNMAPPED, Cohort, RunView, TaskView
from dagbook.decide.transitions import Expand, Move
from dagbook.spec.models import RETURN_VALUE, DagSpec, ResultRef, TaskSpec
from dagbook.states import FINISHED, MOVES, RunState, TaskState
from dagbook.wire.tasks import Value

_S = TaskState
_WAITING = (_S.UP_FOR_RETRY, _S.UP_FOR_RESCHEDULE)
Key = tuple[str, int]


@dataclass(slots=True)
class Instance:
    """One task instance, as a row of ``task_instance``."""

    max_tries: int
    state: TaskState = _S.NONE
    try_number: int = 0
    lost: int = 0
    reason: str | None = None
    label: str | None = None
    not_before: datetime | None = None
    untaken: frozenset[str] = frozenset()
    started_at: datetime | None = None
    #: Where a deferred or rescheduled try goes on.
    method: str | None = None
    event: Any = None

    def move(self, to: TaskState, reason: str | None = None) -> None:
        """``ValueError`` unless the table of moves has it."""
        if to not in MOVES[self.state]:
            raise ValueError(f"illegal move {self.state} -> {to}")
        self.state, self.reason = to, reason


@dataclass
class World:
    """``values``: by task, map index and key."""

    spec: DagSpec
    max_map_length: int = 10_000
    run: int = 1
    state: RunState = RunState.RUNNING
    reason: str | None = None
    instances: dict[Key, Instance] = field(default_factory=dict)
    values: dict[tuple[str, int, str], Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for task in self.spec.tasks:
            self._create(task)

    def _create(self, task: TaskSpec) -> None:
        """Literal lists are expanded at once; what depends on results has a placeholder until then."""
        indexes: Iterable[int] = (UNMAPPED,)
        if task.expansion is not None and not task.expansion.refs:
            count = expansion_count(task.expansion, {}, self.max_map_length)
            if not isinstance(count, Refused) and count > 0:
                indexes = range(count)
        for i in indexes:
            self.instances[task.task_id, i] = Instance(task.retry.limit + 1)

    def of(self, task_id: str) -> dict[int, Instance]:
        return {i: x for (t, i), x in sorted(self.instances.items()) if t == task_id}

    # What a decision sees ---------------------------------------------------------------------

    def view(self, now: datetime) -> RunView:
        tasks = {t.task_id: self._task_view(t, now) for t in self.spec.tasks}
        return RunView(self.run, self.state, self.spec, tasks, self._lengths(), self._untaken(), self._cohorts())

    def _task_view(self, task: TaskSpec, now: datetime) -> TaskView:
        found = self.of(task.task_id)
        counts: dict[TaskState, int] = defaultdict(int)
        for x in found.values():
            counts[x.state] += 1
        due = sum(1 for x in found.values() if x.state in _WAITING and x.not_before is not None and x.not_before <= now)
        return TaskView(dict(counts), expanded=not (task.mapped and UNMAPPED in found), due=due)

    def _lengths(self) -> dict[ResultRef, int | None]:
        return {ref: self._length(ref) for t in self.spec.tasks if t.expansion is not None for ref in t.expansion.refs}

    def _length(self, ref: ResultRef) -> int | None:
        task_id, key, path = ref
        if self.spec.task(task_id).mapped:
            return sum(1 for t, i, k in self.values if t == task_id and k == key and i >= 0)
        value = self.values.get((task_id, UNMAPPED, key))
        if value is None:
            return None
        return value.lengths.get(_path_text(path)) if path else value.length

    def _untaken(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for t in self.spec.tasks:
            if t.branches:
                left = [x.untaken for x in self.of(t.task_id).values() if x.state is _S.SUCCESS]
                if left:
                    found[t.task_id] = frozenset.intersection(*left)
        return found

    def _cohorts(self) -> dict[str, tuple[Cohort, ...]]:
        found: dict[str, tuple[Cohort, ...]] = {}
        for group in dict.fromkeys(t.mapped_group for t in self.spec.tasks if t.mapped_group is not None):
            members = [t for t in self.spec.tasks if t.mapped_group == group]
            alike: dict[tuple[Any, ...], list[int]] = defaultdict(list)
            for i in sorted({i for t in members for i in self.of(t.task_id) if i >= 0}):
                there = [(t, self.instances[t.task_id, i]) for t in members if (t.task_id, i) in self.instances]
                states = tuple((t.task_id, x.state) for t, x in there)
                left = tuple((t.task_id, x.untaken) for t, x in there if t.branches and x.state is _S.SUCCESS)
                alike[states, left].append(i)
            found[group] = tuple(Cohort(tuple(n), dict(states), dict(left)) for (states, left), n in alike.items())
        return found

    # What is written --------------------------------------------------------------------------

    def apply(self, decision: RunDecision) -> None:
        """Guarded, as ``store.apply`` writes it: what has moved since the view was taken is left alone."""
        for expand in decision.expansions:
            self._expand(expand)
        for move in decision.moves:
            self._move(move)
        if decision.outcome is not None and self.state is RunState.RUNNING:
            self.state, self.reason = decision.outcome, decision.reason

    def _move(self, move: Move) -> None:
        for i, x in self.of(move.task_id).items():
            if x.state is not move.expect or (move.indexes is not None and i not in move.indexes):
                continue
            if move.due_by is None or (x.not_before is not None and x.not_before <= move.due_by):
                x.move(move.to, move.reason)
                x.not_before = None

    def _expand(self, e: Expand) -> None:
        found = self.of(e.task_id)
        if not any(x.state is _S.NONE for x in found.values()):
            return
        model = next(x for x in found.values() if x.state is _S.NONE)
        self._drop_placeholder(e.task_id, found)
        for i, x in found.items():
            if i >= e.count and x.state is _S.NONE:
                x.move(_S.REMOVED)
            elif 0 <= i < e.count and x.state in (_S.NONE, _S.REMOVED):
                x.state = e.to
        for i in range(e.count):
            self.instances.setdefault((e.task_id, i), Instance(model.max_tries, e.to))
        if e.count == 0:
            self.instances[e.task_id, UNMAPPED] = Instance(model.max_tries, _S.SKIPPED, reason="nothing to map over: 0 elements")
        self._forget(k for k in self.values if k[0] == e.task_id and k[1] >= e.count)

    def _drop_placeholder(self, task_id: str, found: Mapping[int, Instance]) -> None:
        placeholder = found.get(UNMAPPED)
        if placeholder is not None and placeholder.state is _S.NONE:
            del self.instances[task_id, UNMAPPED]

    def _forget(self, keys: Iterable[tuple[str, int, str]]) -> None:
        for key in list(keys):
            del self.values[key]

    def scheduled(self) -> list[Key]:
        """In the order of the queueing step."""
        weight = {t.task_id: t.priority_weight for t in self.spec.tasks}
        return sorted((k for k, x in self.instances.items() if x.state is _S.SCHEDULED), key=lambda k: (-weight[k[0]], k))

    def claim(self, key: Key, now: datetime) -> Instance:
        """queued → running; a new try unless the old one goes on."""
        x = self.instances[key]
        x.move(_S.RUNNING)
        if x.method is None:
            x.try_number += 1
            x.started_at = now
            if x.try_number > 1:
                self._forget(k for k in self.values if k[:2] == key)
        return x

    def end(self, key: Key, to: TaskState, reason: str | None = None, *, not_before: datetime | None = None) -> None:
        x = self.instances[key]
        x.move(to, reason)
        x.not_before = not_before
        if to in FINISHED or to is _S.UP_FOR_RETRY:
            x.method, x.event = None, None

    def succeed(self, key: Key, result: Value | None = None, label: str | None = None, untaken: Collection[str] = ()) -> None:
        self.end(key, _S.SUCCESS)
        x = self.instances[key]
        x.untaken, x.label = frozenset(untaken), label
        if result is not None:
            self.values[(*key, RETURN_VALUE)] = result

    def clear(self, keys: Iterable[Key]) -> None:
        """Back to none; what runs is over at once, since there is nobody to wait for."""
        for key in keys:
            x = self.instances[key]
            if x.state in (_S.NONE, _S.REMOVED):
                continue
            limit = self.spec.task(key[0]).retry.limit
            self.instances[key] = Instance(x.try_number + limit + 1, try_number=x.try_number)
            self._forget(k for k in self.values if k[:2] == key)
        self.state, self.reason = RunState.RUNNING, None


def _path_text(path: tuple[str | int, ...]) -> str:
    import json

    return json.dumps(list(path), ensure_ascii=False)
