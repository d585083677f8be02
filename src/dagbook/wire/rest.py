"""Request and response bodies of the REST API, and what the event stream sends; JSON by msgspec.

Routes, all under ``{base_url}dagbook/api/``; ids are percent-encoded path parts; errors are
``Problem`` with HTTP 400 (invalid), 404 (not found), 409 (conflict), 503 (engine or database down):

========================================================  ==========================================
GET    status                                             Status
GET    dags?search=                                       list[DagSummary]
POST   dags                DeployRequest                  DagDetail (a draft version; 400 with faults)
GET    dags/{dag}                                         DagDetail
PATCH  dags/{dag}          PauseRequest                   DagSummary
GET    dags/{dag}/versions                                list[VersionSummary]
GET    dags/{dag}/runs?limit=                             list[RunSummary], newest first
POST   dags/{dag}/runs     TriggerRequest                 RunDetail
GET    dags/{dag}/runs/{run}                              RunDetail
POST   dags/{dag}/runs/{run}/cancel                       RunDetail
POST   dags/{dag}/clear           ClearRequest            ClearResult
GET    dags/{dag}/runs/{run}/tasks/{task}?offset=&limit=  list[InstanceDetail], by map_index
GET    dags/{dag}/runs/{run}/tasks/{task}/logs?map_index=&try=&offset=   LogChunk
GET    dags/{dag}/runs/{run}/tasks/{task}/xcom?map_index=&key=           XComValue
GET    dags/{dag}/backfills                               list[BackfillDetail]
POST   dags/{dag}/backfills  BackfillRequest              BackfillDetail
POST   dags/{dag}/backfills/preview  BackfillRequest      BackfillPreview
GET    dags/{dag}/backfills/{id}                          BackfillDetail
PATCH  dags/{dag}/backfills/{id}  BackfillChange          BackfillDetail
GET    dags/{dag}/why                                     Why
GET    dags/{dag}/runs/{run}/why                          Why
GET    dags/{dag}/runs/{run}/tasks/{task}/why?map_index=  Why
GET    datasets                                           list[DatasetDetail]
GET    datasets/events?uri=&limit=                        list[DatasetEventDetail], newest first
POST   datasets/events     DatasetEventRequest            DatasetEventDetail
GET    import-errors                                      list[ImportErrorDetail]
WS     events        client sends Subscribe; server sends Event
========================================================  ==========================================
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal

from msgspec import Struct

from dagbook.spec.models import DagSource, ParamSpec
from dagbook.states import RunState, RunType, TaskState


class FaultBody(Struct, frozen=True, omit_defaults=True):
    message: str
    origin: str | None = None
    line: int | None = None


class Problem(Struct, frozen=True, omit_defaults=True):
    """Every error body: a stable ``code``, a sentence for people, and for DAGs the list of faults."""

    code: str
    message: str
    faults: list[FaultBody] = []


class ComponentHealth(Struct, frozen=True):
    """``kind``: scheduler, triggerer, dag_processor or api; ``age`` seconds since its last finished loop."""

    kind: str
    alive: bool
    age: float | None
    host: str
    pid: int


class Status(Struct, frozen=True):
    version: str
    database: str
    components: list[ComponentHealth]


class DeployRequest(Struct, frozen=True):
    """A notebook DAG: a self-contained module that defines exactly the DAG ``dag_id``."""

    dag_id: str
    source: DagSource


class PauseRequest(Struct, frozen=True):
    is_paused: bool


class TriggerRequest(Struct, frozen=True):
    """``logical_date``: aware ISO instant; default now.  ``version``: digest; default the newest."""

    logical_date: datetime | None = None
    conf: dict[str, Any] = {}
    run_id: str | None = None
    version: str | None = None


class BackfillRequest(Struct, frozen=True):
    """``start``..``end``: logical dates, both inclusive.  ``reprocess``: none, failed or completed."""

    start: date
    end: date
    max_active_runs: int = 1
    reprocess: str = "none"
    run_backwards: bool = False
    conf: dict[str, Any] = {}


class ClearRequest(Struct, frozen=True):
    """Which runs: ``run_id``, or those with a logical date in [start, end].

    Which tasks: those named in ``tasks`` or found by ``task_regex``, else all; with what is above or below them on demand.
    ``map_indexes``: of mapped tasks, these instances alone.  ``original``: by the runs' own versions, not the current one.
    """

    run_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    tasks: list[str] = []
    task_regex: str | None = None
    upstream: bool = False
    downstream: bool = False
    only_failed: bool = False
    map_indexes: list[int] = []
    original: bool = False
    dry_run: bool = False


class ClearedInstance(Struct, frozen=True):
    """``state``: the one that it was in."""

    run_id: str
    task_id: str
    map_index: int
    state: TaskState


class ClearResult(Struct, frozen=True):
    """``instances``: the first 1,000 of ``count``.  ``left_behind``: tasks below that stay upstream_failed."""

    count: int
    runs: int
    instances: list[ClearedInstance]
    left_behind: list[str]
    dry_run: bool


class TaskNode(Struct, frozen=True):
    """One box of the graph.  ``origin``/``line``: where its author wrote it."""

    task_id: str
    operator: str
    upstream: list[str]
    mapped: bool
    trigger_rule: str
    pool: str
    retries: int
    origin: str | None = None
    line: int | None = None
    doc_md: str | None = None


class RunSummary(Struct, frozen=True):
    dag_id: str
    run_id: str
    state: RunState
    run_type: RunType
    logical_date: datetime
    start_date: datetime | None
    end_date: datetime | None
    version: str
    reason: str | None = None


class DagSummary(Struct, frozen=True):
    dag_id: str
    is_paused: bool
    is_draft: bool
    schedule: str | None
    next_run: datetime | None
    tags: list[str]
    owner: str
    description: str | None
    version: str
    recent_runs: list[RunSummary]


class DagDetail(Struct, frozen=True):
    dag: DagSummary
    tasks: list[TaskNode]
    params: list[ParamSpec]
    source: DagSource
    #: Why the next run is due when it is, or why none is.
    next_run_reason: str = ""
    warnings: list[FaultBody] = []


class VersionSummary(Struct, frozen=True):
    version: str
    number: int
    created_at: datetime


class TaskProgress(Struct, frozen=True):
    """A task within a run: for a mapped one ``counts`` is over its instances and ``expanded`` their number.

    ``state`` is the one to colour by: the instance's own, or the most urgent of a mapped task's
    (failed, upstream_failed, up_for_retry, running, queued, scheduled, deferred, …, success).
    """

    task_id: str
    state: TaskState
    counts: dict[str, int]
    expanded: int | None
    start_date: datetime | None
    end_date: datetime | None
    try_number: int
    reason: str | None = None


class RunDetail(Struct, frozen=True):
    run: RunSummary
    nodes: list[TaskNode]
    tasks: list[TaskProgress]
    #: The server's clock at this picture, for elapsed times.
    now: datetime


class InstanceDetail(Struct, frozen=True):
    task_id: str
    map_index: int
    label: str | None
    state: TaskState
    try_number: int
    max_tries: int
    start_date: datetime | None
    end_date: datetime | None
    hostname: str | None
    pid: int | None
    reason: str | None


class LogChunk(Struct, frozen=True):
    """``text`` from byte ``offset``; ask again from ``next_offset``.  ``complete``: the try has ended."""

    text: str
    next_offset: int
    complete: bool


class XComValue(Struct, frozen=True):
    """``codec`` json: ``value`` holds it.  Otherwise ``data`` holds the codec's bytes (base64 in JSON)."""

    key: str
    map_index: int
    codec: str
    value: Any = None
    data: bytes | None = None
    size: int = 0
    preview: dict[str, Any] = {}


class BackfillDetail(Struct, frozen=True):
    """``state``: running, paused, completed or cancelled; ``counts``: runs by state; ``total``: runs planned."""

    id: int
    dag_id: str
    start: date
    end: date
    max_active_runs: int
    state: str
    total: int
    counts: dict[str, int]
    runs: list[RunSummary]
    reprocess: str = "none"
    run_backwards: bool = False


class BackfillChange(Struct, frozen=True):
    """``state``: paused, running (resumes it) or cancelled."""

    state: Literal["paused", "running", "cancelled"]


class PlannedInterval(Struct, frozen=True):
    """``action``: create, rerun or skip."""

    start: datetime
    end: datetime
    action: str
    reason: str


class BackfillPreview(Struct, frozen=True):
    """In the order in which they go; ``counts``: intervals by action."""

    intervals: list[PlannedInterval]
    counts: dict[str, int]
    max_active_runs: int


class DatasetDetail(Struct, frozen=True):
    """``consumers``: DAGs that it starts; ``pending``: of them, those that have news of it which no run has used."""

    uri: str
    events: int
    last_event: datetime | None
    consumers: list[str]
    pending: list[str]


class DatasetEventRequest(Struct, frozen=True):
    """A new state of ``uri``, from outside of any DAG."""

    uri: str
    extra: dict[str, Any] = {}


class DatasetEventDetail(Struct, frozen=True):
    """``source_…``: the task that made it; ``None`` where it came from outside."""

    id: int
    uri: str
    at: datetime
    extra: dict[str, Any]
    alias: str | None
    source_dag_id: str | None
    source_run_id: str | None
    source_task_id: str | None
    source_map_index: int | None


class ReasonBody(Struct, frozen=True):
    """``fix``: the command that unblocks it: as ``%dag`` takes it, or in full where it starts with ``dagbook``."""

    code: str
    text: str
    fix: str | None = None


class Why(Struct, frozen=True):
    """Why ``subject`` doesn't go on, each reason held up by the next; ``state``: of a run or task."""

    subject: str
    state: str | None
    reasons: list[ReasonBody]


class ImportErrorDetail(Struct, frozen=True):
    path: str
    message: str
    line: int | None
    at: datetime


class Subscribe(Struct, frozen=True, tag="subscribe"):
    """Ask for a run's pictures (``run_id`` with ``dag_id``), or for list changes with neither."""

    dag_id: str | None = None
    run_id: str | None = None


class RunEvent(Struct, frozen=True, tag="run"):
    """The run's whole picture, at most ten a second; ``log_tail`` is of what runs or failed last."""

    detail: RunDetail
    log_tail: str = ""
    log_task: str | None = None


class DagsEvent(Struct, frozen=True, tag="dags"):
    """Something in the DAG list changed; fetch ``dags`` again.  At most one a second."""

    dag_ids: list[str] = []


class ProblemEvent(Struct, frozen=True, tag="problem"):
    """A subscription that can't be had, and why."""

    code: str
    message: str


Event = RunEvent | DagsEvent | ProblemEvent
