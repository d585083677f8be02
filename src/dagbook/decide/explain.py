"""Why something doesn't happen: the blocking reasons in the order in which they must go, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dagbook.spec.models import DagSpec
from dagbook.states import FINISHED, RunState, RunType, TaskState

_S = TaskState
#: Of many that hold something, so many are named.
_NAMED = 3
#: What is going on comes first where several tasks are named.
_UNDER_WAY = (_S.RUNNING, _S.QUEUED, _S.SCHEDULED, _S.DEFERRED, _S.UP_FOR_RETRY, _S.UP_FOR_RESCHEDULE, _S.RESTARTING)


@dataclass(frozen=True, slots=True)
class Reason:
    """``code``: a stable word.  ``fix``: the command that unblocks it, as ``%dag`` takes it, or in full from ``dagbook`` on."""

    code: str
    text: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Seconds since the last beat of any scheduler and triggerer; ``None`` where none has ever lived."""

    scheduler_age: float | None
    triggerer_age: float | None
    #: Seconds after which one counts as dead.
    timeout: float


@dataclass(frozen=True, slots=True)
class DagFacts:
    """``next_reason``: why its next run is due when it is.  ``lacking``: datasets that it still waits for."""

    dag_id: str
    is_active: bool
    is_draft: bool
    is_paused: bool
    schedule: str | None
    schedule_error: str | None
    #: Path, line and message.
    import_error: tuple[str, int | None, str] | None
    next_run_at: datetime | None
    next_reason: str
    lacking: tuple[str, ...]
    has_news: tuple[str, ...]
    max_active_runs: int
    unfinished: tuple[str, ...]
    fileloc: str | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """``running``: those that hold the places that it waits for.  ``ahead``: queued runs that go before it."""

    run_id: str
    state: RunState
    run_type: RunType
    reason: str | None
    running: tuple[str, ...]
    limit: int
    ahead: int
    backfill: int | None = None
    backfill_paused: bool = False


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task instance, or the most urgent of a mapped task.  ``held``: why it gets no slot, and ``holders`` who has them."""

    task_id: str
    map_index: int
    state: TaskState
    try_number: int = 0
    max_tries: int = 1
    reason: str | None = None
    not_before: datetime | None = None
    since: datetime | None = None
    where: str = ""
    #: Instances by state, of a mapped task.
    counts: Mapping[TaskState, int] = field(default_factory=dict)
    held: str | None = None
    holders: tuple[str, ...] = ()
    pool: str = ""
    trigger: str | None = None

    @property
    def name(self) -> str:
        return f"{self.task_id}[{self.map_index}]" if self.map_index >= 0 else self.task_id


def why_engine(engine: EngineFacts) -> Iterator[Reason]:
    """What keeps everything from going on."""
    age = engine.scheduler_age
    if age is None:
        yield Reason("no_scheduler", "no scheduler has ever run", "dagbook standalone")
    elif age > engine.timeout:
        yield Reason(
            "no_scheduler", f"no scheduler heartbeat for {age:.0f} s (it counts as dead after {engine.timeout:g} s)", "dagbook standalone"
        )


def why_dag(engine: EngineFacts, dag: DagFacts, now: datetime) -> list[Reason]:
    """Why no scheduled run of it starts now."""
    found = list(why_engine(engine))
    if dag.import_error is not None:
        path, line, message = dag.import_error
        where = f"{path}, line {line}" if line else path
        text = f"its file has an error, so the version before goes on: {where}: {message}"
        found.append(Reason("import_error", text, f"dagbook check {path}"))
    if not dag.is_active:
        return [*found, Reason("inactive", f"{dag.fileloc or 'its file'} doesn't define it any more; only its history is left")]
    if dag.is_paused:
        found.append(Reason("paused", "it is paused: no run starts by schedule or by hand", f"unpause {dag.dag_id}"))
    if dag.is_draft:
        return [
            *found,
            Reason("draft", "it is a notebook's draft: it runs by hand or as a backfill, never by schedule", f"run {dag.dag_id}"),
        ]
    if dag.schedule is None:
        return [*found, Reason("no_schedule", "it has no schedule, so it runs by hand only", f"run {dag.dag_id}")]
    if dag.schedule_error is not None:
        return [*found, Reason("schedule_error", f"its schedule {dag.schedule} can't be followed: {dag.schedule_error}")]
    if len(dag.unfinished) >= dag.max_active_runs:
        text = f"max_active_runs: {len(dag.unfinished)} of {dag.max_active_runs} runs are unfinished: {_named(dag.unfinished)}"
        found.append(Reason("max_active_runs", text))
    if dag.lacking:
        news = f"; it has news of {', '.join(dag.has_news)}" if dag.has_news else ""
        found.append(Reason("datasets", f"it waits for new states of {', '.join(dag.lacking)}{news}"))
    if dag.next_run_at is not None and dag.next_run_at > now:
        text = f"its next run is due at {_at(dag.next_run_at)}, {_in(dag.next_run_at - now)}: {dag.next_reason}"
        found.append(Reason("incomplete_interval", text))
    elif dag.next_run_at is None and not dag.lacking:
        found.append(Reason("no_next_run", f"there is no next run: {dag.next_reason}"))
    return found or [Reason("due", "a run is due; the scheduler makes it at its next look")]


@dataclass(frozen=True, slots=True)
class RunStory:
    """A run with all that bears on it.  ``blocked``: task → why it waits, as ``decide_run`` says."""

    engine: EngineFacts
    dag: DagFacts
    run: RunFacts
    spec: DagSpec
    tasks: Mapping[str, TaskFacts]
    blocked: Mapping[str, str]
    now: datetime

    def why(self) -> list[Reason]:
        """Why the run has not ended; of one that has, why it ended so."""
        if self.run.state is RunState.SUCCESS:
            return [Reason("success", "it has succeeded: every last task is success or skipped")]
        if self.run.state is RunState.FAILED:
            return self._why_failed()
        found = list(why_engine(self.engine))
        if self.run.state is RunState.QUEUED:
            return found + _why_queued(self.dag, self.run)
        active = sorted((t for t in self.tasks.values() if t.state in _UNDER_WAY), key=lambda t: _UNDER_WAY.index(t.state))
        for t in active[:_NAMED]:
            found += self._under_way(t)
        if len(active) > _NAMED:
            found.append(Reason("more", f"and {len(active) - _NAMED} more tasks are under way"))
        waiting = next((t.task_id for t in self.spec.tasks if t.task_id in self.blocked), None)
        if not active and waiting is not None:
            return found + self._waits(waiting)
        return found or [Reason("due", "the scheduler judges it at its next look")]

    def _why_failed(self) -> list[Reason]:
        culprits = [_task_reason(t, self.now) for t in self.tasks.values() if t.state is _S.FAILED]
        again = f"clear {self.dag.dag_id} --run {self.run.run_id} --only-failed"
        return [
            Reason("run_failed", f"the run failed: {self.run.reason or 'a task failed'}"),
            *culprits[:_NAMED],
            Reason("clear", "once that is mended, let what failed run again", again),
        ]

    def why_task(self, task_id: str) -> list[Reason]:
        """From the task up to what holds everything: each reason is held up by the one after it."""
        task = self.tasks[task_id]
        if self.run.state is RunState.QUEUED:
            return [Reason("run_queued", f"its run {self.run.run_id!r} has not started"), *self.why()]
        if task.state is _S.NONE:
            if task_id not in self.blocked:
                return [*why_engine(self.engine), Reason("due", f"{task.name!r} is judged at the scheduler's next look")]
            return [*why_engine(self.engine), *self._waits(task_id)]
        if task.state in (_S.UPSTREAM_FAILED, _S.SKIPPED):
            culprits = [_task_reason(self.tasks[c], self.now) for c in _culprits(self.spec, self.tasks, task_id, task.state)]
            return [_task_reason(task, self.now), *culprits[:_NAMED]]
        if task.state in FINISHED:
            return [_task_reason(task, self.now)]
        return [*why_engine(self.engine), *self._under_way(task)]

    def _waits(self, task_id: str) -> list[Reason]:
        return [Reason("waits", f"{self.tasks[task_id].name!r} waits: {self.blocked[task_id]}"), *self._above(task_id)]

    def _above(self, task_id: str) -> Iterator[Reason]:
        """The nearest tasks above that are under way, or that nothing above explains."""
        todo, seen, named = list(self.spec.task(task_id).upstream), {task_id}, 0
        while todo and named < _NAMED:
            above = todo.pop(0)
            if above in seen or (task := self.tasks[above]).state in FINISHED:
                continue
            seen.add(above)
            higher = [u for u in self.spec.task(above).upstream if self.tasks[u].state not in FINISHED]
            if task.state is _S.NONE and higher:
                todo += higher
                continue
            named += 1
            if task.state is _S.NONE:
                yield Reason("waits", f"{task.name!r} waits: {self.blocked.get(above, 'the scheduler judges it at its next look')}")
            else:
                yield from self._under_way(task)

    def _under_way(self, t: TaskFacts) -> list[Reason]:
        """Of a task that is neither over nor undecided."""
        found = [_task_reason(t, self.now)]
        if t.state is _S.SCHEDULED and t.holders:
            found.append(Reason("holders", f"pool {t.pool!r} is held by {_named(t.holders)}", f"dagbook pools set {t.pool} SLOTS"))
        if t.state is _S.DEFERRED:
            found += _why_nothing_fires(self.engine)
        return found


def _why_nothing_fires(engine: EngineFacts) -> list[Reason]:
    age = engine.triggerer_age
    if age is not None and age <= engine.timeout:
        return []
    said = "no triggerer has ever run" if age is None else f"no triggerer heartbeat for {age:.0f} s"
    return [Reason("no_triggerer", f"{said}, so nothing fires", "dagbook triggerer")]


def _why_queued(dag: DagFacts, run: RunFacts) -> list[Reason]:
    found = []
    if run.backfill is not None:
        if run.backfill_paused:
            found.append(
                Reason("backfill_paused", f"its backfill {run.backfill} is paused", f"backfill {dag.dag_id} --resume -n {run.backfill}")
            )
    elif dag.is_paused:
        found.append(Reason("paused", "the DAG is paused", f"unpause {dag.dag_id}"))
    if len(run.running) >= run.limit:
        whose = f"of backfill {run.backfill}" if run.backfill is not None else "of the DAG"
        text = f"max_active_runs {whose}: {len(run.running)} of {run.limit} are running: {_named(run.running)}"
        found.append(Reason("max_active_runs", text))
    if run.ahead:
        found.append(Reason("in_line", f"{run.ahead} queued run{'s go' if run.ahead > 1 else ' goes'} before it"))
    return found or [Reason("due", "the scheduler starts it at its next look")]


def _culprits(spec: DagSpec, tasks: Mapping[str, TaskFacts], task_id: str, state: TaskState) -> list[str]:
    """Where the failure, or the skip, came from: the tasks above that are in it by their own doing."""
    found: list[str] = []
    todo, seen = list(spec.task(task_id).upstream), {task_id}
    while todo:
        above = todo.pop(0)
        if above in seen:
            continue
        seen.add(above)
        if tasks[above].state is _S.FAILED:
            found.append(above)
        elif tasks[above].state is state:
            higher = [u for u in spec.task(above).upstream if tasks[u].state in (state, _S.FAILED)]
            todo.extend(higher)
            if not higher:
                found.append(above)
    return found


def _task_reason(t: TaskFacts, now: datetime) -> Reason:
    tries = f"try {t.try_number} of {t.max_tries}"
    why = f": {t.reason}" if t.reason else ""
    lasting = f" for {_span(now - t.since)}" if t.since else ""
    some = _some(t)
    match t.state:
        case _S.RUNNING:
            return Reason("running", f"{t.name!r} is running{lasting}, {tries}{t.where}{some}")
        case _S.QUEUED:
            return Reason("executor_queue", f"{t.name!r} has been in the executor's queue{lasting}, {tries}{some}")
        case _S.SCHEDULED:
            return Reason("no_slot", f"{t.name!r} could run; {t.held or 'it is queued at the next look of the scheduler'}{some}")
        case _S.DEFERRED:
            return Reason("deferred", f"{t.name!r} has been deferred{lasting} and waits for {t.trigger or 'its trigger'}{some}")
        case _S.UP_FOR_RETRY:
            return Reason("retry", f"{t.name!r} failed and is up for retry{_until(t, now)}, {tries} has ended{why}{some}")
        case _S.UP_FOR_RESCHEDULE:
            return Reason("reschedule", f"{t.name!r} looks again{_until(t, now)}{some}")
        case _S.RESTARTING:
            return Reason("restarting", f"{t.name!r} was cleared while it ran; its process is being stopped{some}")
        case _S.FAILED:
            return Reason("failed", f"{t.name!r} failed, {tries}{why}{some}")
        case _S.UPSTREAM_FAILED:
            return Reason("upstream_failed", f"{t.name!r} could not run{why}{some}")
        case _S.SKIPPED:
            return Reason("skipped", f"{t.name!r} was skipped{why}{some}")
        case _S.REMOVED:
            return Reason("removed", f"{t.name!r} was removed{why}{some}")
    return Reason("success", f"{t.name!r} has succeeded, {tries}{some}")


def _some(t: TaskFacts) -> str:
    """A mapped task's instances, where they differ."""
    return f" ({', '.join(f'{n} {s}' for s, n in t.counts.items())})" if len(t.counts) > 1 else ""


def _until(t: TaskFacts, now: datetime) -> str:
    if t.not_before is None:
        return ""
    return f" until {_at(t.not_before)}" + (f", {_in(t.not_before - now)}" if t.not_before > now else "")


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _in(span: timedelta) -> str:
    return f"in {_span(span)}"


def _span(span: timedelta) -> str:
    """The two largest units that matter."""
    seconds = max(int(span.total_seconds()), 0)
    units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]
    parts: list[str] = []
    for name, size in units:
        n, seconds = divmod(seconds, size)
        if n or (name == "s" and not parts):
            parts.append(f"{n} {name}")
    return " ".join(parts[:2])
