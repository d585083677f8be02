"""Why a DAG, a run or a task doesn't go on: the facts of the moment, explained by ``decide.explain``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from dagbook.decide.admit import Candidate, Capacity, admit
from dagbook.decide.datasets import lacking
from dagbook.decide.explain import DagFacts, EngineFacts, Reason, RunFacts, RunStory, TaskFacts, why_dag
from dagbook.decide.next_run import describe_next
from dagbook.decide.run import decide_run
from dagbook.decide.snapshot import TaskKey
from dagbook.queries.runs import URGENCY
from dagbook.queries.runs import task as existing_task
from dagbook.settings import Settings
from dagbook.spec.models import ALIAS, DagSpec
from dagbook.states import RunState, RunType, TaskState
from dagbook.store import datasets, queueing, reading, runs, snapshots, standing, timetables, versions
from dagbook.store.standing import Standing
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.rest import ReasonBody, Why

#: What is not so for a task instance that is over or undecided.
_UNDER_WAY = {TaskState.RUNNING, TaskState.QUEUED, TaskState.SCHEDULED, TaskState.DEFERRED}


def dag(work: Work, cache: Versions, settings: Settings, dag_id: str) -> Why:
    facts = _dag_facts(work, cache, dag_id)
    return _told(f"DAG {dag_id}", None, why_dag(_engine(work, settings), facts, reading.now(work)))


def run(work: Work, cache: Versions, settings: Settings, dag_id: str, run_id: str) -> Why:
    story = _story(work, cache, settings, dag_id, run_id)
    return _told(f"run {run_id} of DAG {dag_id}", story.run.state, story.why())


def task(work: Work, cache: Versions, settings: Settings, dag_id: str, run_id: str, task_id: str, map_index: int) -> Why:
    """``map_index`` -1: of a mapped task, its most urgent instance."""
    story = _story(work, cache, settings, dag_id, run_id)
    existing_task(story.spec, task_id)
    if map_index >= 0:
        key = runs.existing(work, dag_id, run_id)
        reading.instance(work, key.id, task_id, map_index)
        one = _task_facts(standing.instance(work, key.id, task_id, map_index), _Queue(work, key.id), {})
        story = replace(story, tasks={**story.tasks, task_id: one})
    found = story.tasks[task_id]
    return _told(f"task {found.name} of run {run_id}", found.state, story.why_task(task_id))


def _told(subject: str, state: str | None, reasons: list[Reason]) -> Why:
    return Why(subject, state, [ReasonBody(r.code, r.text, r.fix) for r in reasons])


def _engine(work: Work, settings: Settings) -> EngineFacts:
    ages = standing.component_ages(work)
    return EngineFacts(ages.get("scheduler"), ages.get("triggerer"), settings.heartbeat_timeout)


def _dag_facts(work: Work, cache: Versions, dag_id: str) -> DagFacts:
    row = versions.existing(work, dag_id)
    spec = cache.spec(work, row.version)
    news = datasets.pending_names(work, dag_id)
    return DagFacts(
        dag_id,
        row.is_active,
        row.is_draft,
        row.is_paused,
        spec.schedule_text,
        row.schedule_error,
        standing.file_fault(work, row.fileloc),
        row.next_run_at,
        describe_next(spec, versions.last_interval(work, dag_id), reading.now(work), timetables.told(work, dag_id)),
        lacking(spec.datasets, set(news)) if spec.datasets else (),
        tuple(sorted(n.removeprefix(ALIAS) for n in news)),
        spec.max_active_runs,
        tuple(standing.unfinished_scheduled(work, dag_id)),
        row.fileloc,
    )


def _story(work: Work, cache: Versions, settings: Settings, dag_id: str, run_id: str) -> RunStory:
    facts = _dag_facts(work, cache, dag_id)
    key = runs.existing(work, dag_id, run_id)
    row = reading.run(work, key.id)
    assert row is not None
    spec, now = cache.spec(work, key.version), reading.now(work)
    line = standing.line_of_run(work, key.id)
    run_facts = RunFacts(
        run_id,
        RunState(row.state),
        RunType(row.run_type),
        row.reason,
        tuple(r for r in line.running if r != run_id),
        line.limit,
        line.ahead,
        line.backfill,
        line.backfill_paused,
    )
    tasks = _tasks(work, key.id, spec)
    blocked: Mapping[str, str] = {}
    if row.state == RunState.RUNNING:
        view = snapshots.take(work, [standing.look_at(work, key.id)], {key.version: spec}, now)[0]
        blocked = decide_run(view, now, settings.max_map_length).blocked
    return RunStory(_engine(work, settings), facts, run_facts, spec, tasks, blocked, now)


class _Queue:
    """What is free, asked for once and only where something waits for a slot."""

    def __init__(self, work: Work, run: int):
        self.work, self.run = work, run
        self._free: Capacity | None = None

    def held(self, s: Standing) -> tuple[str, tuple[str, ...]]:
        """Why a scheduled instance is not queued, and who holds its pool."""
        if self._free is None:
            self._free, _ = queueing.capacity(self.work, 1)
        key = TaskKey(self.run, s.task_id, s.map_index)
        answer = admit([Candidate(key, s.dag_id, s.pool, s.pool_slots, s.most_per_dag, s.most_per_run)], self._free)
        reason = answer.impossible.get(key) or answer.held.get(key)
        if reason is None:
            inside = standing.in_executors(self.work)
            before = f"{s.ahead} task instances go before it" if s.ahead else "it is the next of its pool"
            return f"{before}; executors hold {inside} now", ()
        return reason, tuple(standing.holders(self.work, s.pool)) if reason.startswith("pool") and key in answer.held else ()


def _tasks(work: Work, run: int, spec: DagSpec) -> dict[str, TaskFacts]:
    """Of each task its most urgent instance, with how many are in which state."""
    by_task: dict[str, list[Standing]] = defaultdict(list)
    for s in standing.instances(work, run):
        by_task[s.task_id].append(s)
    counts: dict[str, dict[TaskState, int]] = defaultdict(dict)
    for c in reading.progress(work, run):
        counts[c.task_id][TaskState(c.state)] = c.n
    queue = _Queue(work, run)
    return {
        t.task_id: _task_facts(min(found, key=lambda s: URGENCY.index(TaskState(s.state))), queue, counts[t.task_id])
        if (found := by_task.get(t.task_id))
        else TaskFacts(t.task_id, -1, TaskState.NONE)
        for t in spec.tasks
    }


def _task_facts(s: Standing, queue: _Queue, counts: Mapping[TaskState, int]) -> TaskFacts:
    state = TaskState(s.state)
    held, holders = queue.held(s) if state is TaskState.SCHEDULED else (None, ())
    since: datetime | None = s.queued_at if state is TaskState.QUEUED else s.start_date
    return TaskFacts(
        s.task_id,
        s.map_index,
        state,
        s.try_number + (1 if state is TaskState.QUEUED else 0),
        s.max_tries,
        s.reason,
        s.not_before,
        since if state in _UNDER_WAY else None,
        f", process {s.pid} on {s.hostname}" if state is TaskState.RUNNING and s.pid else "",
        counts,
        held,
        holders,
        s.pool,
        s.trigger,
    )
