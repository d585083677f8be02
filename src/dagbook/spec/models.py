"""What the author wrote, as frozen data.  The scheduler, the API and the views see a DAG only through these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal


class TriggerRule(StrEnum):
    ALL_SUCCESS = "all_success"
    ALL_FAILED = "all_failed"
    ALL_DONE = "all_done"
    ALL_DONE_MIN_ONE_SUCCESS = "all_done_min_one_success"
    ALL_SKIPPED = "all_skipped"
    ONE_SUCCESS = "one_success"
    ONE_FAILED = "one_failed"
    ONE_DONE = "one_done"
    NONE_FAILED = "none_failed"
    NONE_FAILED_MIN_ONE_SUCCESS = "none_failed_min_one_success"
    NONE_SKIPPED = "none_skipped"
    ALWAYS = "always"
    #: A teardown's own: it waits for all, and runs if its setups succeeded.
    ALL_DONE_SETUP_SUCCESS = "all_done_setup_success"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``limit`` retries after the first try; delays in ``timedelta``."""

    limit: int = 0
    delay: timedelta = timedelta(minutes=5)
    exponential: bool = False
    max_delay: timedelta | None = None


@dataclass(frozen=True, slots=True, order=True)
class DataInterval:
    """[start, end): the run's data.  Its scheduled run may start once ``due`` has come: ``end``, unless said otherwise."""

    start: datetime
    end: datetime
    run_after: datetime | None = field(default=None, compare=False)

    @property
    def due(self) -> datetime:
        return self.run_after or self.end


@dataclass(frozen=True, slots=True)
class Schedule:
    """When scheduled runs are due: by a cron expression, an absolute ``interval``, or another ``kind``; ``None`` fields otherwise.

    ``custom``: by the author's own timetable, which only processes for user code may ask.
    ``text`` is what the author wrote and what people see.
    """

    kind: Literal["cron", "delta", "once", "continuous", "custom"]
    text: str
    cron: str | None = None
    interval: timedelta | None = None
    #: A run covers the calendar day that ended last before the tick, not the time between two ticks.
    align_day: bool = False
    #: A run covers this much time before its tick, and may start at it; ``None``: the time to the next tick.
    span: timedelta | None = None
    #: The zone whose wall clock the cron is read by, where it isn't the DAG's.
    timezone: str | None = None

    @property
    def has_ticks(self) -> bool:
        return self.cron is not None or self.interval is not None


#: Before the name of a dataset alias, where datasets and aliases stand side by side.
ALIAS = "alias:"


@dataclass(frozen=True, slots=True)
class DatasetCondition:
    """Which datasets must have new states: ``one`` by ``name``, or ``all`` or ``any`` of ``parts``."""

    kind: Literal["one", "all", "any"]
    name: str = ""
    parts: tuple[DatasetCondition, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) if self.kind == "one" else tuple(dict.fromkeys(n for p in self.parts for n in p.names))

    def __str__(self) -> str:
        if self.kind == "one":
            return self.name
        return "(" + (" & " if self.kind == "all" else " | ").join(str(p) for p in self.parts) + ")"


#: The XCom key of what a task returns.
RETURN_VALUE = "return_value"


#: A result, or a part of one, that has a length: task id, XCom key, and the keys and indices taken from the value.
ResultRef = tuple[str, str, tuple[str | int, ...]]


@dataclass(frozen=True, slots=True)
class MapSource:
    """How many elements one expanded argument has.

    A literal of known ``length``; the output ``key`` of ``task_id``, or what lies at ``path`` in it; or ``parts``
    put together: ``zip`` (the shortest counts), ``longest``, or ``concat`` (the sum).
    """

    argument: str
    length: int | None = None
    task_id: str | None = None
    key: str = RETURN_VALUE
    path: tuple[str | int, ...] = ()
    combine: Literal["zip", "longest", "concat"] | None = None
    parts: tuple[MapSource, ...] = ()

    @property
    def refs(self) -> Iterator[ResultRef]:
        """The results that must be known before it can be counted."""
        if self.task_id is not None:
            yield self.task_id, self.key, self.path
        for part in self.parts:
            yield from part.refs


@dataclass(frozen=True, slots=True)
class Expansion:
    """``product``: cross product in argument order.  ``kwargs``: one source, a list of dicts."""

    kind: Literal["product", "kwargs"]
    sources: tuple[MapSource, ...]

    @property
    def refs(self) -> tuple[ResultRef, ...]:
        return tuple(r for s in self.sources for r in s.refs)


@dataclass(frozen=True, slots=True)
class Deadline:
    """Done by ``interval`` after the run's ``logical_date`` or ``queued_at``, or by ``at``; else it is marked as missed.

    ``callback``: the author gave a function to call then.
    """

    reference: Literal["logical_date", "queued_at", "fixed"]
    interval: timedelta = timedelta(0)
    at: datetime | None = None
    callback: bool = False


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """``upstream``: direct ones.  ``mapped_group``: the mapped task group it is in, whose ``expansion`` it then has.

    ``callbacks``: of success, failure, retry, skipped and execute, those that the author wants to hear of.
    """

    task_id: str
    operator: str
    upstream: tuple[str, ...] = ()
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCESS
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    queue: str = "default"
    executor: str | None = None
    executor_config: dict[str, Any] = field(default_factory=dict)
    owner: str = ""
    execution_timeout: timedelta | None = None
    depends_on_past: bool = False
    wait_for_downstream: bool = False
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    expansion: Expansion | None = None
    groups: tuple[str, ...] = ()
    mapped_group: str | None = None
    #: It may leave some of its downstreams untaken: a branch or a short circuit.
    branches: bool = False
    #: Of a branch: it may leave all that is below it, not only what is directly below.
    short_circuits: bool = False
    setup: bool = False
    teardown: bool = False
    #: Of a teardown: its failure fails the run.
    fails_run: bool = False
    #: Labels of edges, by upstream task id.
    labels: dict[str, str] = field(default_factory=dict)
    outlets: tuple[str, ...] = ()
    inlets: tuple[str, ...] = ()
    callbacks: tuple[str, ...] = ()
    deadline: Deadline | None = None
    doc_md: str | None = None
    #: Place in the author's text: a cell label or file, and the line there.
    origin: str | None = None
    line: int | None = None

    @property
    def mapped(self) -> bool:
        return self.expansion is not None


@dataclass(frozen=True, slots=True)
class ParamSpec:
    name: str
    default: Any = None
    description: str | None = None
    schema: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskGroupSpec:
    """``mapped``: its tasks are expanded together."""

    group_id: str
    parent: str | None = None
    tooltip: str = ""
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class DagSpec:
    """``tasks`` are in topological order, so one forward walk sees upstreams first."""

    dag_id: str
    tasks: tuple[TaskSpec, ...]
    schedule: Schedule | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None
    timezone: str = "UTC"
    catchup: bool = False
    max_active_runs: int = 16
    max_active_tasks: int = 16
    dagrun_timeout: timedelta | None = None
    #: New states of these start runs, beside the schedule where there is one.
    datasets: DatasetCondition | None = None
    #: One failed task ends the run: what has not started is skipped.
    fail_fast: bool = False
    deadline: Deadline | None = None
    #: Of success and failure, those that the author wants to hear of.
    callbacks: tuple[str, ...] = ()
    #: Ids of task groups, outer ones first, with what people read over them.
    groups: tuple[TaskGroupSpec, ...] = ()
    params: tuple[ParamSpec, ...] = ()
    tags: tuple[str, ...] = ()
    description: str | None = None
    doc_md: str | None = None

    def task(self, task_id: str) -> TaskSpec:
        return next(t for t in self.tasks if t.task_id == task_id)

    @property
    def task_ids(self) -> tuple[str, ...]:
        return tuple(t.task_id for t in self.tasks)

    @property
    def has_own_timetable(self) -> bool:
        return self.schedule is not None and self.schedule.kind == "custom"

    @property
    def schedule_text(self) -> str | None:
        """What people read as its schedule."""
        said = [self.schedule.text] if self.schedule else []
        return " or ".join(said + ([str(self.datasets)] if self.datasets else [])) or None

    @property
    def leaves(self) -> tuple[str, ...]:
        """The tasks whose states make the run's; a teardown counts only where it asks to."""
        counting = [t for t in self.tasks if not t.teardown or t.fails_run]
        inner = {u for t in counting if not t.teardown for u in t.upstream}
        return tuple(t.task_id for t in counting if t.teardown or t.task_id not in inner)


@dataclass(frozen=True, slots=True)
class Segment:
    """Lines ``start``..``end`` of a version's source (1-based, inclusive) come from ``origin`` at ``origin_line``."""

    start: int
    end: int
    origin: str
    origin_line: int


@dataclass(frozen=True, slots=True)
class DagSource:
    """A self-contained module: the text a version is, and where each of its lines was written.

    ``path`` is the file in the DAGs folder, or ``None`` for a notebook's slice.
    """

    text: str
    segments: tuple[Segment, ...] = ()
    path: str | None = None

    def place(self, line: int) -> tuple[str, int]:
        """The author's place of module line ``line``: (cell label or path, line there)."""
        for s in self.segments:
            if s.start <= line <= s.end:
                return s.origin, s.origin_line + line - s.start
        return self.path or "<dag>", line
