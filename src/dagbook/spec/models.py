"""What the author wrote, as frozen data.  The scheduler, the API and the views see a DAG only through these."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """``limit`` retries after the first try; delays in ``timedelta``."""

    limit: int = 0
    delay: timedelta = timedelta(minutes=5)
    exponential: bool = False
    max_delay: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """When scheduled runs are due: a cron expression or an absolute ``interval``; ``None`` fields otherwise.

    ``text`` is what the author wrote and what people see.
    """

    kind: Literal["cron", "delta", "once"]
    text: str
    cron: str | None = None
    interval: timedelta | None = None
    align_day: bool = False


#: The XCom key of what a task returns.
RETURN_VALUE = "return_value"


@dataclass(frozen=True, slots=True)
class MapSource:
    """One expanded argument: a literal of known ``length``, or the output ``key`` of ``task_id``."""

    argument: str
    length: int | None = None
    task_id: str | None = None
    key: str = RETURN_VALUE


@dataclass(frozen=True, slots=True)
class Expansion:
    """``product``: cross product in argument order.  ``kwargs``: one source, a list of dicts."""

    kind: Literal["product", "kwargs"]
    sources: tuple[MapSource, ...]


@dataclass(frozen=True, slots=True)
class TaskSpec:
    task_id: str
    operator: str
    upstream: tuple[str, ...] = ()
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCESS
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    pool: str = "default_pool"
    pool_slots: int = 1
    priority_weight: int = 1
    queue: str = "default"
    owner: str = ""
    execution_timeout: timedelta | None = None
    depends_on_past: bool = False
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    expansion: Expansion | None = None
    outlets: tuple[str, ...] = ()
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
    params: tuple[ParamSpec, ...] = ()
    tags: tuple[str, ...] = ()
    description: str | None = None
    doc_md: str | None = None

    def task(self, task_id: str) -> TaskSpec:
        return next(t for t in self.tasks if t.task_id == task_id)

    @property
    def leaves(self) -> tuple[str, ...]:
        inner = {u for t in self.tasks for u in t.upstream}
        return tuple(t.task_id for t in self.tasks if t.task_id not in inner)


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
