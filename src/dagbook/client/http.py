"""The REST API as typed methods."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from dagbook import errors
from dagbook.artifacts import codecs
from dagbook.client.discover import HOW_TO_START, Server
from dagbook.errors import DagbookError, EngineUnavailable, Fault, InvalidDag
from dagbook.spec.models import RETURN_VALUE, DagSource
from dagbook.wire.rest import (
    BackfillChange,
    BackfillDetail,
    BackfillPreview,
    BackfillRequest,
    ClearRequest,
    ClearResult,
    DagDetail,
    DagSummary,
    DatasetDetail,
    DatasetEventDetail,
    DatasetEventRequest,
    DeployRequest,
    ImportErrorDetail,
    InstanceDetail,
    LogChunk,
    PauseRequest,
    Problem,
    RunDetail,
    RunSummary,
    Status,
    TriggerRequest,
    VersionSummary,
    Why,
    XComValue,
)

T = TypeVar("T")
_KINDS: dict[str, type[DagbookError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DagbookError)
}
#: The engine is on this machine or near it; a proxy for the outside world is none of its business.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _XCom(msgspec.Struct, frozen=True):
    codec: str
    value: msgspec.Raw = msgspec.Raw(b"null")
    data: bytes | None = None


class Api:
    """One server's API.  What it answers as a ``Problem`` is raised as the ``DagbookError`` that it was there."""

    def __init__(self, server: Server, timeout: float = 60.0):
        self.server, self._timeout = server, timeout

    # DAGs --------------------------------------------------------------------------------------

    def status(self) -> Status:
        return self._get("status", Status)

    def dags(self, search: str = "") -> list[DagSummary]:
        return self._get("dags", list[DagSummary], search=search)

    def dag(self, dag_id: str) -> DagDetail:
        return self._get(f"dags/{_part(dag_id)}", DagDetail)

    def versions(self, dag_id: str) -> list[VersionSummary]:
        return self._get(f"dags/{_part(dag_id)}/versions", list[VersionSummary])

    def import_errors(self) -> list[ImportErrorDetail]:
        return self._get("import-errors", list[ImportErrorDetail])

    def deploy(self, dag_id: str, source: DagSource) -> DagDetail:
        return self._send("POST", "dags", DeployRequest(dag_id, source), DagDetail)

    def pause(self, dag_id: str, is_paused: bool) -> DagSummary:
        return self._send("PATCH", f"dags/{_part(dag_id)}", PauseRequest(is_paused), DagSummary)

    def backfill(self, dag_id: str, request: BackfillRequest) -> BackfillDetail:
        return self._send("POST", f"dags/{_part(dag_id)}/backfills", request, BackfillDetail)

    def backfills(self, dag_id: str) -> list[BackfillDetail]:
        return self._get(f"dags/{_part(dag_id)}/backfills", list[BackfillDetail])

    def preview_backfill(self, dag_id: str, request: BackfillRequest) -> BackfillPreview:
        return self._send("POST", f"dags/{_part(dag_id)}/backfills/preview", request, BackfillPreview)

    def one_backfill(self, dag_id: str, backfill: int) -> BackfillDetail:
        return self._get(f"dags/{_part(dag_id)}/backfills/{backfill}", BackfillDetail)

    def change_backfill(self, dag_id: str, backfill: int, state: Literal["paused", "running", "cancelled"]) -> BackfillDetail:
        return self._send("PATCH", f"dags/{_part(dag_id)}/backfills/{backfill}", BackfillChange(state), BackfillDetail)

    def clear(self, dag_id: str, request: ClearRequest) -> ClearResult:
        return self._send("POST", f"dags/{_part(dag_id)}/clear", request, ClearResult)

    # Runs --------------------------------------------------------------------------------------

    def runs(self, dag_id: str, limit: int = 25) -> list[RunSummary]:
        return self._get(f"dags/{_part(dag_id)}/runs", list[RunSummary], limit=limit)

    def trigger(self, dag_id: str, request: TriggerRequest) -> RunDetail:
        return self._send("POST", f"dags/{_part(dag_id)}/runs", request, RunDetail)

    def run(self, dag_id: str, run_id: str) -> RunDetail:
        return self._get(_run(dag_id, run_id), RunDetail)

    def cancel(self, dag_id: str, run_id: str) -> RunDetail:
        return self._send("POST", f"{_run(dag_id, run_id)}/cancel", None, RunDetail)

    def instances(self, dag_id: str, run_id: str, task_id: str, offset: int = 0, limit: int = 1000) -> list[InstanceDetail]:
        path = f"{_run(dag_id, run_id)}/tasks/{_part(task_id)}"
        return self._get(path, list[InstanceDetail], offset=offset, limit=limit)

    def log(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1, try_number: int | None = None, offset: int = 0) -> LogChunk:
        path = f"{_run(dag_id, run_id)}/tasks/{_part(task_id)}/logs"
        wanted = {} if try_number is None else {"try": try_number}
        return self._get(path, LogChunk, map_index=map_index, offset=offset, **wanted)

    def result(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1, key: str = RETURN_VALUE) -> Any:
        """The value itself: a DataFrame comes back as one.  ``NotFound`` where the task left none."""
        found = self._get(f"{_run(dag_id, run_id)}/tasks/{_part(task_id)}/xcom", _XCom, map_index=map_index, key=key)
        return codecs.decode(found.codec, bytes(found.value) if found.data is None else found.data)

    def xcom(self, dag_id: str, run_id: str, task_id: str, map_index: int = -1, key: str = RETURN_VALUE) -> XComValue:
        """The value as it is kept, with its size and preview."""
        return self._get(f"{_run(dag_id, run_id)}/tasks/{_part(task_id)}/xcom", XComValue, map_index=map_index, key=key)

    def why(self, dag_id: str, run_id: str | None = None, task_id: str | None = None, map_index: int = -1) -> Why:
        """Why the DAG, the run, or the task doesn't go on."""
        if run_id is None:
            return self._get(f"dags/{_part(dag_id)}/why", Why)
        if task_id is None:
            return self._get(f"{_run(dag_id, run_id)}/why", Why)
        return self._get(f"{_run(dag_id, run_id)}/tasks/{_part(task_id)}/why", Why, map_index=map_index)

    # Datasets ----------------------------------------------------------------------------------

    def datasets(self) -> list[DatasetDetail]:
        return self._get("datasets", list[DatasetDetail])

    def dataset_events(self, uri: str = "", limit: int = 25) -> list[DatasetEventDetail]:
        return self._get("datasets/events", list[DatasetEventDetail], uri=uri, limit=limit)

    def post_dataset_event(self, uri: str, extra: dict[str, Any] | None = None) -> DatasetEventDetail:
        """Say that ``uri`` has a new state."""
        return self._send("POST", "datasets/events", DatasetEventRequest(uri, extra or {}), DatasetEventDetail)

    # The wire ----------------------------------------------------------------------------------

    def _get(self, path: str, kind: type[T], **query: Any) -> T:
        words = urlencode({k: v for k, v in query.items() if v != ""})
        return self._ask("GET", f"{path}?{words}" if words else path, None, kind)

    def _send(self, method: str, path: str, body: Any, kind: type[T]) -> T:
        return self._ask(method, path, b"" if body is None else msgspec.json.encode(body), kind)

    def _ask(self, method: str, path: str, body: bytes | None, kind: type[T]) -> T:
        url = f"{self.server.url}/dagbook/api/{path}"
        headers = {"Authorization": f"token {self.server.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        try:
            with _opener.open(request, timeout=self._timeout) as response:
                answer = response.read()
        except urllib.error.HTTPError as e:
            raise _raised(e, self.server) from None
        except (OSError, http.client.HTTPException) as e:
            raise EngineUnavailable(f"the engine at {self.server.url} does not answer ({_why(e)}); {HOW_TO_START}") from None
        return msgspec.json.decode(answer, type=kind)


def _part(word: str) -> str:
    return quote(word, safe="")


def _run(dag_id: str, run_id: str) -> str:
    return f"dags/{_part(dag_id)}/runs/{_part(run_id)}"


def _why(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error) or type(error).__name__


def _raised(error: urllib.error.HTTPError, server: Server) -> DagbookError:
    body = error.read()
    try:
        problem = msgspec.json.decode(body, type=Problem)
    except msgspec.MsgspecError:
        if error.code == 404:
            return EngineUnavailable(
                f"the Jupyter server at {server.url} has no Dagbook; install it there: pip install dagbook, and restart it"
            )
        if error.code in (401, 403):
            return EngineUnavailable(f"the Jupyter server at {server.url} refuses this kernel's token (HTTP {error.code})")
        return DagbookError(f"the engine at {server.url} answered HTTP {error.code}: {body[:200].decode('utf-8', 'replace')}")
    if problem.faults:
        return InvalidDag([Fault(f.message, f.origin, f.line) for f in problem.faults])
    kind = _KINDS.get(problem.code, DagbookError)
    return DagbookError(problem.message) if kind is InvalidDag else kind(problem.message)
