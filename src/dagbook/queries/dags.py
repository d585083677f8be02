"""The list of DAGs, one DAG, and how the engine does."""

from __future__ import annotations

from collections import defaultdict

import dagbook
from dagbook.decide.next_run import describe_next
from dagbook.queries.runs import node, summary
from dagbook.store import files, jobs, reading, timetables
from dagbook.store import versions as store_versions
from dagbook.store.reading import DagListRow, RunRow
from dagbook.store.versions import Versions
from dagbook.store.work import Work
from dagbook.wire.rest import ComponentHealth, DagDetail, DagSummary, ImportErrorDetail, Status, VersionSummary

_RECENT = 10


def listing(work: Work, search: str = "", limit: int = 1000) -> list[DagSummary]:
    rows = reading.dags(work, search, limit)
    recent: dict[str, list[RunRow]] = defaultdict(list)
    for r in reading.newest_runs(work, [d.dag_id for d in rows], _RECENT):
        recent[r.dag_id].append(r)
    return [_summary(d, recent[d.dag_id]) for d in rows]


def _summary(d: DagListRow, recent: list[RunRow]) -> DagSummary:
    return DagSummary(
        d.dag_id,
        d.is_paused,
        d.is_draft,
        d.schedule,
        None if d.is_paused else d.next_run_at,
        d.tags,
        d.author,
        d.description,
        d.version,
        [summary(r) for r in recent],
    )


def one(work: Work, dag_id: str) -> DagSummary:
    store_versions.existing(work, dag_id)
    return _summary(reading.dag(work, dag_id), reading.newest_runs(work, [dag_id], _RECENT))


def detail(work: Work, cache: Versions, dag_id: str) -> DagDetail:
    found, row = one(work, dag_id), store_versions.existing(work, dag_id)
    spec = cache.spec(work, found.version)
    source = store_versions.source_of(work, found.version)
    last, told = store_versions.last_interval(work, dag_id), timetables.told(work, dag_id)
    reason = row.schedule_error or describe_next(spec, last, reading.now(work), told)
    return DagDetail(found, [node(t) for t in spec.tasks], list(spec.params), source, reason)


def versions(work: Work, dag_id: str) -> list[VersionSummary]:
    store_versions.existing(work, dag_id)
    return [VersionSummary(*v) for v in reading.versions(work, dag_id)]


def import_errors(work: Work) -> list[ImportErrorDetail]:
    return [ImportErrorDetail(f.path, f.error, f.error_line, f.parsed_at) for f in files.known(work).values() if f.error is not None]


def status(work: Work, heartbeat_timeout: float) -> Status:
    components = [ComponentHealth(j.kind, j.age < heartbeat_timeout, j.age, j.hostname, j.pid) for j in jobs.living(work)]
    return Status(dagbook.__version__, f"PostgreSQL {reading.server_version(work)}", components)
