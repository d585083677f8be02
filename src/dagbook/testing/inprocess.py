"""One run in this process: real decisions, real task bodies, everything else in memory.  For debuggers and for authors' tests."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dagbook import compat
from dagbook.artifacts import codecs
from dagbook.authoring.builder import DAG
from dagbook.authoring.freeze import freeze
from dagbook.decide.calendar import interval_at
from dagbook.decide.finish import on_failure
from dagbook.decide.run import decide_run
from dagbook.errors import FailTask, Invalid, NotFound, RescheduleTask, SkipTask, TaskDeferred, nearest
from dagbook.spec.models import RETURN_VALUE, DagSource
from dagbook.spec.params import fill
from dagbook.states import FAILURES, RunState, TaskState
from dagbook.testing.memory import Memory, connection
from dagbook.testing.world import Key, World
from dagbook.wire.tasks import Claimed, ConnectionValue, Owed, RunContext, TryKey
from dagbook.worker.execute import call_back, execute
from dagbook.worker.load import load
from dagbook.worker.trace import describe

_S = TaskState


@dataclass(frozen=True)
class TaskResult:
    """How one task instance ended."""

    task_id: str
    map_index: int
    state: TaskState
    tries: int
    reason: str | None
    label: str | None

    def __str__(self) -> str:
        name = self.task_id if self.map_index < 0 else f"{self.task_id}[{self.map_index}]"
        return " ".join(filter(None, [name, self.label and f"({self.label})", str(self.state), self.reason and f"– {self.reason}"]))


@dataclass
class TestRun:
    """``run["task"]`` is the task's result, in map order where it is mapped; ``run.error`` the first exception that failed a task."""

    __test__ = False
    state: RunState
    reason: str | None
    tasks: list[TaskResult]
    error: BaseException | None = None
    _values: dict[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, task_id: str) -> Any:
        if task_id not in self._values:
            states = [t for t in self.tasks if t.task_id == task_id]
            known = sorted({t.task_id for t in self.tasks})
            raise NotFound(
                f"task {task_id!r} left no result: {', '.join(str(t) for t in states)}"
                if states
                else f"the run has no task {task_id!r}{nearest(task_id, known)}"
            )
        return self._values[task_id]

    def __iter__(self) -> Iterator[TaskResult]:
        return iter(self.tasks)

    def states(self) -> dict[str, str]:
        """By ``task`` and ``task[index]``."""
        return {t.task_id if t.map_index < 0 else f"{t.task_id}[{t.map_index}]": str(t.state) for t in self.tasks}

    def __repr__(self) -> str:
        return "\n".join([f"run: {self.state}{f' – {self.reason}' if self.reason else ''}", *(f"  {t}" for t in self.tasks)])


def test_run(
    dag: DAG,
    *,
    logical_date: datetime | None = None,
    conf: Mapping[str, Any] | None = None,
    variables: Mapping[str, Any] | None = None,
    connections: Mapping[str, Any] | None = None,
    source: DagSource | None = None,
    timezone: str = "UTC",
    max_map_length: int = 10_000,
) -> TestRun:
    """Run all tasks one by one in this process and thread, so that a debugger stops in them.

    ``conf`` fills the DAG's params.  ``variables`` and ``connections`` (a URI, or a dict of fields) are all that tasks see of either.
    ``timezone`` is that of DAGs that name none.

    Retries come at once; pools, limits and time-outs don't count; a deferred task waits here for its trigger.
    """
    source = source or DagSource("", path=dag.place[0])
    return _InProcess(dag, source, logical_date, conf or {}, variables or {}, connections or {}, timezone, max_map_length).run()


def run_source(source: DagSource, dag_id: str | None = None, **options: Any) -> TestRun:
    """``test_run`` of a DAG in a module's text; ``dag_id`` may be left out where it holds one alone."""
    found = {d.dag_id: d for d in load(source)}
    if dag_id is None and len(found) != 1:
        raise Invalid(f"{source.path or 'the module'} has {len(found)} DAGs; name one: {', '.join(found)}")
    dag = next(iter(found.values())) if dag_id is None else found.get(dag_id)
    if dag is None:
        raise NotFound(f"{source.path or 'the module'} has no DAG {dag_id!r}{nearest(str(dag_id), list(found))}")
    with compat.spoken():
        return test_run(dag, source=source, **options)


test_run.__test__ = False  # type: ignore[attr-defined]


class _InProcess:
    def __init__(
        self,
        dag: DAG,
        source: DagSource,
        logical_date: datetime | None,
        conf: Mapping[str, Any],
        variables: Mapping[str, Any],
        connections: Mapping[str, Any],
        timezone: str,
        limit: int,
    ):
        self.dag, self.source, self.limit = dag, source, limit
        self.spec = freeze(dag, source, timezone)
        self.world = World(self.spec, limit)
        self.variables = {k: str(v) for k, v in variables.items()}
        self.connections: dict[str, ConnectionValue] = {c: connection(c, v) for c, v in connections.items()}
        self.error: BaseException | None = None
        now = datetime.now(UTC)
        date = logical_date or now
        if date.tzinfo is None:
            raise Invalid(f"logical_date {date} has no timezone; write datetime(2025, 1, 1, tzinfo=UTC)")
        covered = interval_at(self.spec, date.astimezone(UTC))
        start, end = (covered.start, covered.end) if logical_date else (now, now)
        params = fill(self.spec.dag_id, self.spec.params, conf)
        run_id = f"test__{date.isoformat()}"
        self.context = RunContext(self.spec.dag_id, run_id, "manual", date, start, end, params, dict(conf), 1)

    def run(self) -> TestRun:
        while self.world.state is RunState.RUNNING:
            now = datetime.now(UTC)
            self.world.apply(decide_run(self.world.view(now), now, self.limit))
            for key in self.world.scheduled():
                self._one(key)
            self._pass_time()
        self._call("success" if self.world.state is RunState.SUCCESS else "failure", ("", -1), 0, self.world.reason)
        return self._result()

    def _pass_time(self) -> None:
        """Retries are due at once; what asked for a time of its own waits until then."""
        if any(x.state not in (_S.UP_FOR_RESCHEDULE, _S.NONE, *_ENDED) for x in self.world.instances.values()):
            return
        waiting = [x.not_before for x in self.world.instances.values() if x.state is _S.UP_FOR_RESCHEDULE and x.not_before]
        if waiting:
            time.sleep(max((min(waiting) - datetime.now(UTC)).total_seconds(), 0))

    def _one(self, key: Key) -> None:
        instance = self.world.instances[key]
        instance.move(_S.QUEUED)
        self.world.claim(key, datetime.now(UTC))
        t = TryKey(self.world.run, *key, instance.try_number)
        claimed = Claimed(self.context, instance.method, instance.event, instance.started_at)
        print(f"▸ {key[0]}{'' if key[1] < 0 else f'[{key[1]}]'}", flush=True)
        try:
            left = execute(self.dag, t, claimed, self._memory(key))
        except TaskDeferred as e:
            self._deferred(key, e)
        except RescheduleTask as e:
            instance.method = "execute"
            self.world.end(key, _S.UP_FOR_RESCHEDULE, not_before=e.at)
        except SkipTask as e:
            self._ended(key, _S.SKIPPED, str(e) or "the task skipped itself")
        except Exception as e:
            self._failed(key, e)
        else:
            self.world.succeed(key, left.result, left.label, left.untaken or ())
            self._call("success", key, t.try_number, None)

    def _failed(self, key: Key, error: Exception) -> None:
        text, line = describe(error, self.source)
        sys.stderr.write(text)
        instance = self.world.instances[key]
        now = datetime.now(UTC)
        retryable = not isinstance(error, FailTask)
        policy = self.spec.task(key[0]).retry
        to, _ = on_failure(policy, instance.try_number, instance.max_tries, now, retryable=retryable, jitter=0.0)
        if to is _S.FAILED and self.error is None:
            self.error = error
        self._ended(key, to, line, now)

    def _ended(self, key: Key, to: TaskState, reason: str, not_before: datetime | None = None) -> None:
        tries = self.world.instances[key].try_number
        self.world.end(key, to, reason, not_before=not_before if to is _S.UP_FOR_RETRY else None)
        self._call({_S.SKIPPED: "skipped", _S.UP_FOR_RETRY: "retry"}.get(to, "failure"), key, tries, reason)

    def _deferred(self, key: Key, wait: TaskDeferred) -> None:
        instance = self.world.instances[key]
        try:
            event = _wait(wait)
        except Exception as e:
            self.error = self.error or e
            self._ended(key, _S.FAILED, f"its trigger {wait.trigger} failed: {type(e).__name__}: {e}")
            return
        instance.method, instance.event = wait.method, event
        self.world.end(key, _S.DEFERRED)
        instance.move(_S.SCHEDULED)

    def _call(self, kind: str, key: Key, try_number: int, reason: str | None) -> None:
        """The author's callbacks; what they raise is shown and changes nothing, as on the engine."""
        wanted = self.spec.task(key[0]).callbacks if key[0] else self.spec.callbacks
        if kind not in wanted:
            return
        owed = Owed(kind, key[0], key[1], try_number, reason)
        try:
            call_back(self.dag, Claimed(self.context, callback=owed), TryKey(self.world.run, *key, try_number), self._memory(key))
        except Exception as e:
            sys.stderr.write(f"The on_{kind}_callback failed.\n{describe(e, self.source)[0]}")

    def _memory(self, key: Key) -> Memory:
        return Memory(self.world, key, self.variables, self.connections)

    def _result(self) -> TestRun:
        order = {t.task_id: n for n, t in enumerate(self.spec.tasks)}
        found = sorted(self.world.instances.items(), key=lambda kv: (order[kv[0][0]], kv[0][1]))
        tasks = [TaskResult(*k, x.state, x.try_number, x.reason, x.label) for k, x in found if x.state is not _S.REMOVED]
        values: dict[str, Any] = {}
        for (task_id, index, key), value in sorted(self.world.values.items()):
            if key == RETURN_VALUE:
                decoded = codecs.decode(value.codec, value.data)
                if index < 0:
                    values[task_id] = decoded
                else:
                    values.setdefault(task_id, []).append(decoded)
        for t in tasks:
            if t.state is _S.SUCCESS and t.map_index < 0:
                values.setdefault(t.task_id, None)
        return TestRun(self.world.state, self.world.reason, tasks, self.error, values)


_ENDED = (_S.SUCCESS, _S.SKIPPED, _S.REMOVED, *FAILURES)


def _wait(wait: TaskDeferred) -> Any:
    """For the trigger's event; in a thread, since a notebook's own thread has a loop that runs already."""
    module, _, name = wait.trigger.rpartition(".")
    trigger = getattr(importlib.import_module(module), name)(**wait.kwargs)
    left: list[Any] = []

    async def main() -> Any:
        async with asyncio.timeout(wait.timeout):
            return await trigger.run()

    def run() -> None:
        try:
            left.append((asyncio.run(main()), None))
        except BaseException as e:
            left.append((None, e))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    event, error = left[0]
    if error is not None:
        raise error
    return event
