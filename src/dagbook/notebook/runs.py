"""A run as a Python object: its state, its tasks, their results and logs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, overload

from dagbook.client import Api
from dagbook.client.events import follow
from dagbook.errors import NotFound, nearest
from dagbook.spec.models import RETURN_VALUE
from dagbook.states import FINISHED, FINISHED_RUNS, RunState, TaskState
from dagbook.widgets.picture import run_text
from dagbook.widgets.view import LiveView
from dagbook.wire.rest import InstanceDetail, RunDetail, RunEvent

#: Seconds a run may be quiet before the engine's own state is looked at.
_PATIENCE = 4.0


class Run:
    """One run of a DAG.  What it says of itself is as fresh as the last call that asked the engine."""

    def __init__(self, api: Api, detail: RunDetail):
        self._api, self._detail = api, detail

    @property
    def dag_id(self) -> str:
        return self._detail.run.dag_id

    @property
    def run_id(self) -> str:
        return self._detail.run.run_id

    @property
    def state(self) -> RunState:
        """Asked anew until the run has ended."""
        if self._detail.run.state not in FINISHED_RUNS:
            self.refresh()
        return self._detail.run.state

    @property
    def task_ids(self) -> list[str]:
        return [n.task_id for n in self._detail.nodes]

    def refresh(self) -> Run:
        self._detail = self._api.run(self.dag_id, self.run_id)
        return self

    def cancel(self) -> Run:
        """Stop what runs; what waits never starts."""
        self._detail = self._api.cancel(self.dag_id, self.run_id)
        return self

    def wait(self, timeout: float | None = None) -> Run:
        """Until the run has ended; ``TimeoutError`` after ``timeout`` seconds, the run goes on."""
        deadline = None if timeout is None else time.monotonic() + timeout
        if self.state in FINISHED_RUNS:
            return self
        for event in follow(self._api, self.dag_id, self.run_id):
            if event is not None:
                self._detail = event.detail
            if deadline is not None and time.monotonic() > deadline and self._detail.run.state not in FINISHED_RUNS:
                raise TimeoutError(f"run {self.run_id!r} of DAG {self.dag_id!r} is {self._detail.run.state} after {timeout:g} s")
        return self

    def watch(self) -> Run:
        """Show it live until it has ended; an interrupt leaves it going."""
        view = LiveView(RunEvent(self._detail))
        view.show()
        waiting = _Waiting(self._api)
        try:
            for event in follow(self._api, self.dag_id, self.run_id):
                if event is None:
                    waiting.look(self._detail)
                    continue
                self._detail = event.detail
                waiting.moved(self._detail)
                view.update(event)
        except KeyboardInterrupt:
            print(
                f"Detached: run {self.run_id!r} goes on without this cell.  Watch it again with its .watch(); "
                f"stop it: %dag cancel {self.dag_id} {self.run_id}"
            )
        finally:
            view.finish()
        return self

    def __getitem__(self, task_id: str) -> Task:
        if task_id not in self.task_ids:
            raise NotFound(f"DAG {self.dag_id!r} has no task {task_id!r}{nearest(task_id, self.task_ids)}")
        return Task(self._api, self, task_id)

    def __iter__(self) -> Iterator[Task]:
        return (self[t] for t in self.task_ids)

    def _mapped(self, task_id: str) -> bool:
        return next(n.mapped for n in self._detail.nodes if n.task_id == task_id)

    def _said(self, task_id: str) -> tuple[TaskState, str | None]:
        if self._detail.run.state not in FINISHED_RUNS:
            self.refresh()
        found = next(t for t in self._detail.tasks if t.task_id == task_id)
        return found.state, found.reason

    def __repr__(self) -> str:
        return run_text(self._detail)


class _Waiting:
    """Says what a silent run waits for, once for each reason."""

    def __init__(self, api: Api):
        self._api, self._since, self._said = api, time.monotonic(), ""
        self._picture: object = None

    def moved(self, detail: RunDetail) -> None:
        picture = (detail.run.state, [(t.state, t.counts) for t in detail.tasks])
        if picture != self._picture:
            self._picture, self._since = picture, time.monotonic()

    def look(self, detail: RunDetail) -> None:
        if time.monotonic() - self._since < _PATIENCE or any(t.state == TaskState.RUNNING for t in detail.tasks):
            return
        why = self._why(detail)
        if why and why != self._said:
            self._said = why
            print(f"Waiting: {why}")

    def _why(self, detail: RunDetail) -> str:
        if detail.run.reason:
            return detail.run.reason
        if not any(c.kind == "scheduler" and c.alive for c in self._api.status().components):
            return "no scheduler is alive; one starts with the Jupyter server, or by: dagbook scheduler"
        return next((f"task {t.task_id!r}: {t.reason}" for t in detail.tasks if t.reason and t.state not in FINISHED), "")


class Task:
    """One task of a run; for a mapped one, ``[i]`` and ``len`` reach its instances."""

    def __init__(self, api: Api, run: Run, task_id: str):
        self._api, self._run, self.task_id = api, run, task_id

    @property
    def mapped(self) -> bool:
        return self._run._mapped(self.task_id)

    @property
    def state(self) -> TaskState:
        """A mapped task's is that of its most urgent instance."""
        return self._run._said(self.task_id)[0]

    @property
    def reason(self) -> str | None:
        return self._run._said(self.task_id)[1]

    @property
    def result(self) -> Any:
        """What the task returned; of a mapped one, the list over its instances, ``None`` where there is none."""
        return self.xcom()

    def xcom(self, key: str = RETURN_VALUE) -> Any:
        """A value pushed under ``key``; of a mapped task, the list over its instances."""
        if self.mapped:
            return [i.xcom(key) if i.state == TaskState.SUCCESS else None for i in self]
        return self._instance(-1).xcom(key)

    @property
    def log(self) -> str:
        """The newest try's; a mapped task's instances' one after another."""
        return self.log_of()

    def log_of(self, try_number: int | None = None) -> str:
        """The log of one try, by default the newest; a mapped task's instances' one after another."""
        if self.mapped:
            return "\n".join(f"--- {self.task_id}[{i.map_index}]\n{i.log_of(try_number)}" for i in self)
        return self._instance(-1).log_of(try_number)

    @property
    def instances(self) -> list[Instance]:
        found: list[InstanceDetail] = []
        while True:
            page = self._api.instances(self._run.dag_id, self._run.run_id, self.task_id, len(found))
            found += page
            if len(page) < 1000:
                return [Instance(self._api, self._run, i) for i in found]

    def _instance(self, map_index: int) -> Instance:
        found = self._api.instances(self._run.dag_id, self._run.run_id, self.task_id, 0, 1)
        if not found or found[0].map_index != map_index:
            raise NotFound(f"run {self._run.run_id!r} has not started task {self.task_id!r} yet")
        return Instance(self._api, self._run, found[0])

    @overload
    def __getitem__(self, i: int) -> Instance: ...
    @overload
    def __getitem__(self, i: slice) -> list[Instance]: ...
    def __getitem__(self, i: int | slice) -> Instance | list[Instance]:
        if not self.mapped:
            raise TypeError(f"task {self.task_id!r} is not mapped; its result is .result")
        if isinstance(i, slice) or i < 0:
            return self.instances[i]
        found = self._api.instances(self._run.dag_id, self._run.run_id, self.task_id, i, 1)
        if not found:
            raise IndexError(f"task {self.task_id!r} has {len(self)} instances; there is no [{i}]")
        return Instance(self._api, self._run, found[0])

    def __len__(self) -> int:
        return len(self.instances)

    def __iter__(self) -> Iterator[Instance]:
        return iter(self.instances)

    def __repr__(self) -> str:
        return f"<Task {self.task_id!r} of {self._run.run_id!r}: {self.state}>"


class Instance:
    """One task instance."""

    def __init__(self, api: Api, run: Run, detail: InstanceDetail):
        self._api, self._run, self._detail = api, run, detail

    @property
    def state(self) -> TaskState:
        return self._detail.state

    @property
    def map_index(self) -> int:
        return self._detail.map_index

    @property
    def label(self) -> str | None:
        return self._detail.label

    @property
    def reason(self) -> str | None:
        return self._detail.reason

    @property
    def try_number(self) -> int:
        return self._detail.try_number

    @property
    def duration(self) -> float | None:
        """Seconds; ``None`` until it has ended."""
        d = self._detail
        return (d.end_date - d.start_date).total_seconds() if d.start_date and d.end_date else None

    @property
    def result(self) -> Any:
        """What it returned; ``NotFound`` says why there is nothing."""
        return self.xcom()

    def xcom(self, key: str = RETURN_VALUE) -> Any:
        """A value it pushed under ``key``; ``NotFound`` says why there is nothing."""
        try:
            return self._api.result(self._run.dag_id, self._run.run_id, self._detail.task_id, self.map_index, key)
        except NotFound:
            if self.state == TaskState.SUCCESS and key == RETURN_VALUE:
                return None  # a success without a result returned None
            raise

    @property
    def log(self) -> str:
        """The newest try's."""
        return self.log_of()

    def log_of(self, try_number: int | None = None) -> str:
        """The log of one try, by default the newest."""
        text, offset = "", 0
        while True:
            chunk = self._api.log(self._run.dag_id, self._run.run_id, self._detail.task_id, self.map_index, try_number, offset)
            text += chunk.text
            if chunk.next_offset == offset:
                return text
            offset = chunk.next_offset

    def __repr__(self) -> str:
        index = f"[{self.map_index}]" if self.map_index >= 0 else ""
        took = f" in {self.duration:.2f} s" if self.duration is not None else ""
        why = f": {self.reason}" if self.reason else ""
        return f"<{self._detail.task_id}{index} {self.state}{took}{why}>"
