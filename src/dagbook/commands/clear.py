"""Let tasks that have run, run again."""

from __future__ import annotations

import re
from collections.abc import Collection

from dagbook.decide.clear import selection
from dagbook.decide.upstream import below
from dagbook.errors import Invalid, NotFound, nearest
from dagbook.spec.models import DagSpec
from dagbook.states import FAILURES, TaskState
from dagbook.store import clearing, runs, versions
from dagbook.store.clearing import Clearable, ClearableRun
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.rest import ClearedInstance, ClearRequest, ClearResult

#: Runs that one clear touches at most, and instances that it lists.
MOST_RUNS, LISTED = 1000, 1000


def clear(work: Work, cache: Versions, dag_id: str, request: ClearRequest, max_map_length: int) -> ClearResult:
    """What was cleared or, with ``dry_run``, what would be.

    Runs go on by the DAG's current version, or with ``original`` by their own.  What runs is stopped first.
    """
    row = versions.existing(work, dag_id)
    chosen = _runs(work, dag_id, request)
    found: list[Clearable] = []
    stay: dict[str, None] = {}
    for run in chosen:
        version = run.version if request.original else row.version
        spec = cache.spec(work, version)
        wanted = _wanted(spec, request)
        tasks = selection(spec, wanted, upstream=request.upstream, downstream=request.downstream)
        states = [str(s) for s in FAILURES] if request.only_failed else None
        cleared = [c for c in clearing.instances(work, [run.id], tasks, states) if _indexed(c, spec, wanted, request.map_indexes)]
        found += cleared
        stay.update(dict.fromkeys(_left_behind(work, run, spec, cleared)))
        if cleared and not request.dry_run:
            clearing.clear(work, cleared)
            clearing.start_again(work, run, version, spec, max_map_length)
    names = {r.id: r.run_id for r in chosen}
    listed = [ClearedInstance(names[c.run], c.task_id, c.map_index, TaskState(c.state)) for c in found[:LISTED]]
    return ClearResult(len(found), len({c.run for c in found}), listed, list(stay), request.dry_run)


def _runs(work: Work, dag_id: str, request: ClearRequest) -> list[ClearableRun]:
    if request.run_id is not None:
        runs.existing(work, dag_id, request.run_id)
        return clearing.one_run(work, dag_id, request.run_id)
    if request.start is None and request.end is None:
        raise Invalid("say which runs to clear: run_id, or start and end of a range of logical dates")
    if request.start and request.end and request.end < request.start:
        raise Invalid(f"the range ends ({request.end}) before it starts ({request.start})")
    chosen = clearing.runs_between(work, dag_id, request.start, request.end, MOST_RUNS + 1)
    if len(chosen) > MOST_RUNS:
        raise Invalid(f"more than {MOST_RUNS} runs lie in the range; clear fewer at a time")
    return chosen


def _wanted(spec: DagSpec, request: ClearRequest) -> Collection[str]:
    """The tasks that were named, or that the pattern is found in; all without either."""
    known = spec.task_ids
    for task_id in request.tasks:
        if task_id not in known:
            raise NotFound(f"DAG {spec.dag_id!r} has no task {task_id!r}{nearest(task_id, list(known))}")
    if request.task_regex is None:
        return request.tasks or known
    try:
        pattern = re.compile(request.task_regex)
    except re.error as e:
        raise Invalid(f"task_regex {request.task_regex!r} is no regular expression: {e}") from None
    found = [t for t in known if pattern.search(t)]
    if not found:
        raise NotFound(f"no task of DAG {spec.dag_id!r} matches {request.task_regex!r}; it has {', '.join(known[:20])}")
    return [*request.tasks, *found]


def _indexed(c: Clearable, spec: DagSpec, wanted: Collection[str], indexes: Collection[int]) -> bool:
    """The named tasks at the named indices; what shares their mapped group, at the same ones."""
    if not indexes or c.map_index in indexes:
        return True
    groups = {spec.task(t).mapped_group for t in wanted} - {None}
    return c.task_id not in wanted and spec.task(c.task_id).mapped_group not in groups


def _left_behind(work: Work, run: ClearableRun, spec: DagSpec, cleared: list[Clearable]) -> list[str]:
    """Tasks directly below that a failure kept from running, and that this doesn't clear."""
    down = below(spec)
    next_ones = {t for c in cleared for t in down[c.task_id]} - {c.task_id for c in cleared}
    return sorted({c.task_id for c in clearing.instances(work, [run.id], next_ones, ["upstream_failed"])})
