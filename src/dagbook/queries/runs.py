"""A run's picture: its graph, how each task stands, its instances, logs and results."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from dagbook.artifacts import logs
from dagbook.errors import NotFound, nearest
from dagbook.spec.models import DagSpec, TaskSpec
from dagbook.states import FINISHED, RunState, RunType, TaskState
from dagbook.store import reading, runs
from dagbook.store import versions as store_versions
from dagbook.store.reading import InstanceRow, RunRow, StateCount
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.rest import InstanceDetail, LogChunk, RunDetail, RunEvent, RunSummary, TaskNode, TaskProgress, XComValue

_S = TaskState
#: A mapped task is coloured by the first of these that any of its instances is in.
URGENCY = (
    _S.FAILED,
    _S.UPSTREAM_FAILED,
    _S.UP_FOR_RETRY,
    _S.RUNNING,
    _S.RESTARTING,
    _S.QUEUED,
    _S.SCHEDULED,
    _S.DEFERRED,
    _S.UP_FOR_RESCHEDULE,
    _S.NONE,
    _S.SUCCESS,
    _S.SKIPPED,
    _S.REMOVED,
)
_TAIL = 4096


def summary(r: RunRow) -> RunSummary:
    return RunSummary(
        r.dag_id, r.run_id, RunState(r.state), RunType(r.run_type), r.logical_date, r.start_date, r.end_date, r.version, r.reason
    )


def node(t: TaskSpec) -> TaskNode:
    return TaskNode(t.task_id, t.operator, list(t.upstream), t.mapped, t.trigger_rule, t.pool, t.retry.limit, t.origin, t.line, t.doc_md)


def newest(work: Work, dag_id: str, limit: int) -> list[RunSummary]:
    store_versions.existing(work, dag_id)
    return [summary(r) for r in reading.newest_runs(work, [dag_id], limit)]


def number(work: Work, dag_id: str, run_id: str) -> int:
    """The run's number in the database; ``NotFound`` says which runs there are."""
    store_versions.existing(work, dag_id)
    return runs.existing(work, dag_id, run_id).id


def detail(work: Work, cache: Versions, dag_id: str, run_id: str) -> RunDetail:
    store_versions.existing(work, dag_id)
    key = runs.existing(work, dag_id, run_id)
    found = reading.run(work, key.id)
    assert found is not None
    return picture(work, cache, found)


def picture(work: Work, cache: Versions, r: RunRow) -> RunDetail:
    spec = cache.spec(work, r.version)
    counts: dict[str, list[StateCount]] = defaultdict(list)
    for c in reading.progress(work, r.id):
        counts[c.task_id].append(c)
    tasks = [_progress(t, counts[t.task_id]) for t in spec.tasks]
    return RunDetail(_with_wait(work, r), [node(t) for t in spec.tasks], tasks, reading.now(work))


def _with_wait(work: Work, r: RunRow) -> RunSummary:
    """A queued run says what it waits for."""
    said = summary(r)
    if r.state == RunState.QUEUED and r.reason is None:
        said = msgspec.structs.replace(said, reason=waiting_for(work, r))
    return said


def waiting_for(work: Work, r: RunRow) -> str | None:
    dag = store_versions.dag_row(work, r.dag_id)
    if dag is not None and dag.is_paused and r.run_type != RunType.BACKFILL:
        return "the DAG is paused; it starts when the DAG is unpaused"
    return None


def _progress(t: TaskSpec, counts: list[StateCount]) -> TaskProgress:
    if not counts:
        return TaskProgress(t.task_id, _S.NONE, {}, None, None, None, 0)
    by_state = {c.state: c.n for c in counts}
    state = next(s for s in URGENCY if s in by_state)
    placeholder = t.mapped and any(c.first_index < 0 for c in counts)
    started = min((c.started for c in counts if c.started), default=None)
    ended = max((c.ended for c in counts if c.ended), default=None)
    over = all(TaskState(c.state) in FINISHED for c in counts)
    return TaskProgress(
        t.task_id,
        state,
        by_state,
        sum(by_state.values()) if t.mapped and not placeholder else None,
        started,
        ended if over else None,
        max(c.try_number for c in counts),
        next((c.reason for s in URGENCY for c in counts if c.state == s and c.reason), None),
    )


def task(spec: DagSpec, task_id: str) -> TaskSpec:
    for t in spec.tasks:
        if t.task_id == task_id:
            return t
    raise NotFound(f"DAG {spec.dag_id!r} has no task {task_id!r}{nearest(task_id, [t.task_id for t in spec.tasks])}")


def _located(work: Work, cache: Versions, dag_id: str, run_id: str, task_id: str) -> tuple[int, TaskSpec]:
    store_versions.existing(work, dag_id)
    key = runs.existing(work, dag_id, run_id)
    return key.id, task(cache.spec(work, key.version), task_id)


def instances(work: Work, cache: Versions, dag_id: str, run_id: str, task_id: str, offset: int, limit: int) -> list[InstanceDetail]:
    run, _ = _located(work, cache, dag_id, run_id, task_id)
    return [
        InstanceDetail(
            i.task_id,
            i.map_index,
            i.label,
            TaskState(i.state),
            i.try_number,
            i.max_tries,
            i.start_date,
            i.end_date,
            i.hostname,
            i.pid,
            i.reason,
        )
        for i in reading.instances(work, run, task_id, offset, limit)
    ]


def log_chunk(
    work: Work,
    cache: Versions,
    folder: Path,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int,
    try_number: int | None,
    offset: int,
) -> LogChunk:
    """Of the newest try unless another is named."""
    run, _ = _located(work, cache, dag_id, run_id, task_id)
    found = reading.instance(work, run, task_id, map_index)
    wanted = found.try_number if try_number is None else try_number
    if not 0 <= wanted <= max(found.try_number, 1):
        raise NotFound(f"task {task_id!r} has had {found.try_number} tries; there is no try {wanted}")
    over = wanted < found.try_number or found.state != TaskState.RUNNING
    chunk = logs.read(folder, _log_path(dag_id, run_id, found, wanted), offset, complete=over)
    return LogChunk(chunk.text, chunk.next_offset, chunk.complete)


def _log_path(dag_id: str, run_id: str, i: InstanceRow, try_number: int) -> str:
    return logs.relative_path(dag_id, run_id, i.task_id, i.map_index, try_number)


def xcom(work: Work, cache: Versions, dag_id: str, run_id: str, task_id: str, map_index: int, key: str) -> XComValue:
    """``NotFound`` says which keys there are."""
    run, _ = _located(work, cache, dag_id, run_id, task_id)
    row = reading.xcom(work, run, task_id, map_index, key)
    if row is None:
        state = reading.instance(work, run, task_id, map_index).state
        keys = reading.xcom_keys(work, run, task_id, map_index)
        have = f"it has: {', '.join(keys)}" if keys else f"it left no results (its state is {state})"
        raise NotFound(f"task {task_id!r} of run {run_id!r} has no result {key!r}; {have}")
    plain = row.codec == "json"
    return XComValue(
        row.key,
        row.map_index,
        row.codec,
        msgspec.Raw(row.value) if plain else None,
        None if plain else row.value,
        len(row.value),
        row.preview,
    )


def event(work: Work, cache: Versions, folder: Path, run: int) -> RunEvent | None:
    """The picture with the tail of the log that tells most; ``None`` when there is no such run."""
    found = reading.run(work, run)
    if found is None:
        return None
    telling = reading.most_telling(work, run)
    tail = ""
    if telling is not None:
        path = _log_path(found.dag_id, found.run_id, telling, max(telling.try_number, 1))
        tail = logs.read(folder, path, -_TAIL, complete=True).text
    return RunEvent(picture(work, cache, found), tail, _label(telling) if telling else None)


def _label(i: InstanceRow) -> str:
    return i.task_id if i.map_index < 0 else f"{i.task_id}[{i.map_index}]"
