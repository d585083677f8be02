"""The task execution protocol: what a task process says and hears.  Msgpack frames, 4-byte length before each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct


class TryKey(Struct, frozen=True):
    """One try of one task instance: the identity that every report carries and every write checks."""

    run: int
    task_id: str
    map_index: int
    try_number: int


class Workload(Struct, frozen=True):
    """What an executor is handed.  ``run_id`` and ``dag_id`` are for names and logs only."""

    key: TryKey
    dag_id: str
    run_id: str
    version: str
    queue: str
    #: Relative to the logs folder.
    log_path: str
    timeout: float | None = None


class Value(Struct, frozen=True):
    """An encoded XCom value; ``length`` where it can be mapped over."""

    codec: str
    data: bytes
    length: int | None = None
    preview: dict[str, Any] = {}
    #: Of parts that are mapped over: JSON path → length.
    lengths: dict[str, int] = {}


class RunContext(Struct, frozen=True):
    """What a task may know of its run."""

    dag_id: str
    run_id: str
    run_type: str
    logical_date: datetime
    data_interval_start: datetime
    data_interval_end: datetime
    params: dict[str, Any]
    conf: dict[str, Any]
    max_tries: int


class DatasetNews(Struct, frozen=True):
    """A new state of the dataset ``uri``, on the task's own word; ``alias``: the outlet that it was added to."""

    uri: str
    extra: dict[str, Any] = {}
    alias: str | None = None


class Owed(Struct, frozen=True):
    """A callback that is to be called: of the task, or with ``task_id`` "" of the DAG.  ``try_number``: the one it is about."""

    kind: str
    task_id: str
    map_index: int
    try_number: int
    reason: str | None


# From the task -------------------------------------------------------------------------------


class Claim(Struct, frozen=True, tag="claim"):
    """queued → running; refused when the try is not the current one."""

    pid: int
    hostname: str


class XComGet(Struct, frozen=True, tag="xcom_get"):
    """``map_indexes``: the instances wanted; ``None`` for all successful ones, in order."""

    task_id: str
    key: str
    map_indexes: list[int] | None = None


class XComIndexes(Struct, frozen=True, tag="xcom_indexes"):
    """Which instances of ``task_id`` have a value under ``key``."""

    task_id: str
    key: str


class XComSet(Struct, frozen=True, tag="xcom_set"):
    key: str
    value: Value


class Succeeded(Struct, frozen=True, tag="succeeded"):
    """``untaken``: of a branch, the tasks that it did not choose.  ``news``: what it says of its outlets."""

    result: Value | None
    label: str | None = None
    untaken: list[str] | None = None
    news: list[DatasetNews] = []


class Failed(Struct, frozen=True, tag="failed"):
    reason: str
    retryable: bool = True


class Skipped(Struct, frozen=True, tag="skipped"):
    reason: str


class Rescheduled(Struct, frozen=True, tag="rescheduled"):
    """The same try goes on at ``at``, and holds no worker until then."""

    at: datetime


class Deferred(Struct, frozen=True, tag="deferred"):
    """Wait outside a worker for ``trigger`` (import path) with ``kwargs``, then call ``method`` with its event."""

    trigger: str
    kwargs: dict[str, Any]
    method: str
    timeout: float | None = None


class VariableGet(Struct, frozen=True, tag="variable_get"):
    key: str


class ConnectionGet(Struct, frozen=True, tag="connection_get"):
    conn_id: str


class PreviousSuccessGet(Struct, frozen=True, tag="previous_success_get"):
    """The newest successful run of the DAG before this one."""


class TriggeringEventsGet(Struct, frozen=True, tag="triggering_events_get"):
    """The dataset events that started the run."""


class Heartbeat(Struct, frozen=True, tag="heartbeat"):
    pass


Request = (
    Claim
    | XComGet
    | XComIndexes
    | XComSet
    | Succeeded
    | Failed
    | Skipped
    | Rescheduled
    | Deferred
    | VariableGet
    | ConnectionGet
    | PreviousSuccessGet
    | TriggeringEventsGet
    | Heartbeat
)


# To the task ---------------------------------------------------------------------------------


class Claimed(Struct, frozen=True, tag="claimed"):
    """``event``: the trigger's answer when the task resumes at ``method``.  ``callback``: there is no task to run but this."""

    context: RunContext
    method: str | None = None
    event: Any = None
    started_at: datetime | None = None
    callback: Owed | None = None


class Values(Struct, frozen=True, tag="values"):
    values: list[tuple[int, Value]]


class Indexes(Struct, frozen=True, tag="indexes"):
    indexes: list[int]


class VariableValue(Struct, frozen=True, tag="variable"):
    """``None``: there is no such variable."""

    value: str | None


class ConnectionValue(Struct, frozen=True, tag="connection"):
    """Every field ``None``: there is no such connection."""

    conn_type: str | None = None
    host: str | None = None
    schema: str | None = None
    login: str | None = None
    password: str | None = None
    port: int | None = None
    extra: str | None = None


class PreviousSuccess(Struct, frozen=True, tag="previous_success"):
    """``None``: there is none."""

    logical_date: datetime | None = None
    data_interval_start: datetime | None = None
    data_interval_end: datetime | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None


class EventInfo(Struct, frozen=True):
    uri: str
    extra: dict[str, Any]
    at: datetime
    source_run_id: str | None = None
    source_task_id: str | None = None


class TriggeringEvents(Struct, frozen=True, tag="triggering_events"):
    events: list[EventInfo]


class Done(Struct, frozen=True, tag="done"):
    pass


class Refused(Struct, frozen=True, tag="refused"):
    """The request was not carried out; a task whose try is stale exits at once."""

    reason: str


Reply = Claimed | Values | Indexes | VariableValue | ConnectionValue | PreviousSuccess | TriggeringEvents | Done | Refused


# Between an executor and its warm server -----------------------------------------------------


class Load(Struct, frozen=True, tag="load"):
    dag_id: str
    version: str
    text: str
    path: str | None
    segments: bytes


class Loaded(Struct, frozen=True, tag="loaded"):
    """``threads``: the import started some, so forking is unsafe; ``error`` says why nothing can run."""

    threads: int = 0
    error: str | None = None


class Fork(Struct, frozen=True, tag="fork"):
    """A task's socket comes beside this message as a file descriptor.

    ``in_place``: the server itself becomes the task, where its import has made forking unsafe.
    """

    workload: Workload
    log_file: str
    in_place: bool = False


class Exited(Struct, frozen=True, tag="exited"):
    """``status``: exit code, or minus the signal's number."""

    pid: int
    key: TryKey
    status: int


class Forked(Struct, frozen=True, tag="forked"):
    pid: int
    key: TryKey


ServerRequest = Load | Fork
ServerReport = Loaded | Forked | Exited

request_decoder = msgspec.msgpack.Decoder(Request)
reply_decoder = msgspec.msgpack.Decoder(Reply)
server_request_decoder = msgspec.msgpack.Decoder(ServerRequest)
server_report_decoder = msgspec.msgpack.Decoder(ServerReport)
encode = msgspec.msgpack.encode
