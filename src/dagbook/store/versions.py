"""DAGs and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from sqlalchemy import text

from dagbook.errors import Conflict, NotFound, nearest
from dagbook.spec import codec
from dagbook.spec.models import DagSource, DagSpec, DataInterval, Segment
from dagbook.store import datasets, plain
from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class DagRow:
    """A DAG as the list shows it."""

    dag_id: str
    is_paused: bool
    is_active: bool
    is_draft: bool
    author: str
    fileloc: str | None
    version: str
    next_run_at: datetime | None
    schedule_error: str | None


_ROW = "dag_id, is_paused, is_active, is_draft, author, fileloc, version, next_run_at, schedule_error"


def dag_row(work: Work, dag_id: str, *, lock: bool = False) -> DagRow | None:
    found = work.conn.execute(
        text(f"SELECT {_ROW} FROM dag WHERE dag_id = :dag_id" + (" FOR UPDATE" if lock else "")), {"dag_id": dag_id}
    ).one_or_none()
    return DagRow(*found) if found else None


def existing(work: Work, dag_id: str) -> DagRow:
    """``NotFound`` says which DAGs there are."""
    row = dag_row(work, dag_id)
    if row is None:
        known = work.conn.execute(text("SELECT dag_id FROM dag WHERE is_active ORDER BY dag_id LIMIT 500")).scalars()
        raise NotFound(f"there is no DAG {dag_id!r}{nearest(dag_id, list(known))}")
    return row


def pools(work: Work) -> dict[str, int]:
    return {r.name: r.slots for r in work.conn.execute(text("SELECT name, slots FROM pool"))}


_UPSERT_DAG = text("""
    INSERT INTO dag (dag_id, is_paused, is_draft, author, fileloc, version, schedule, tags, description,
                     max_active_runs, max_active_tasks)
    VALUES (:dag_id, :is_paused, :is_draft, :author, :fileloc, :version, :schedule, :tags, :description,
            :max_active_runs, :max_active_tasks)
    ON CONFLICT (dag_id) DO UPDATE SET
        is_active = true, is_draft = excluded.is_draft, author = excluded.author, fileloc = excluded.fileloc,
        version = excluded.version, schedule = excluded.schedule, tags = excluded.tags,
        description = excluded.description, max_active_runs = excluded.max_active_runs,
        max_active_tasks = excluded.max_active_tasks, updated_at = now()
""")

_INSERT_VERSION = text("""
    INSERT INTO dag_version (version, dag_id, number, spec, source, segments, path)
    SELECT :version, :dag_id, coalesce(max(number), 0) + 1, :spec, :source, CAST(:segments AS jsonb), :path
    FROM dag_version WHERE dag_id = :dag_id
    ON CONFLICT (version) DO NOTHING
""")


def deploy(work: Work, spec: DagSpec, version: str, source: DagSource, *, draft: bool, author: str = "", paused: bool = False) -> None:
    """Make ``version`` the DAG's current one; a new DAG starts ``paused`` or not, a known one stays as it is.

    A draft never replaces a DAG of the DAGs folder, nor another author's: ``Conflict``.
    """
    work.conn.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:id, 77))"), {"id": spec.dag_id})
    before = dag_row(work, spec.dag_id)
    if draft and before is not None and before.is_active:
        _may_replace(before, author)
    work.conn.execute(
        _UPSERT_DAG,
        {
            "dag_id": spec.dag_id,
            "is_paused": paused,
            "is_draft": draft,
            "author": author,
            "fileloc": source.path,
            "version": version,
            "schedule": spec.schedule_text,
            "tags": list(spec.tags),
            "description": plain.text(spec.description),
            "max_active_runs": spec.max_active_runs,
            "max_active_tasks": spec.max_active_tasks,
        },
    )
    work.conn.execute(
        _INSERT_VERSION,
        {
            "version": version,
            "dag_id": spec.dag_id,
            "spec": codec.encode(spec).decode(),
            "source": source.text,
            "segments": plain.document([[s.start, s.end, s.origin, s.origin_line] for s in source.segments]),
            "path": source.path,
        },
    )
    datasets.set_consumer(work, spec.dag_id, None if draft else spec.datasets)
    work.dag_changed(spec.dag_id)


def _may_replace(before: DagRow, author: str) -> None:
    if not before.is_draft:
        raise Conflict(f"DAG {before.dag_id!r} is defined by {before.fileloc}; give the cell's DAG another id, or edit that file")
    if before.author != author:
        raise Conflict(f"DAG {before.dag_id!r} is a draft of {before.author!r}; give yours another id")


def set_next(work: Work, dag_id: str, interval: DataInterval | None, error: str | None = None) -> None:
    """When the next scheduled run is due, or why none ever is."""
    work.conn.execute(
        text("UPDATE dag SET next_start = :start, next_end = :end, next_run_at = :due, schedule_error = :error WHERE dag_id = :dag_id"),
        {
            "dag_id": dag_id,
            "start": interval.start if interval else None,
            "end": interval.end if interval else None,
            "due": interval.due if interval else None,
            "error": plain.text(error),
        },
    )


def last_interval(work: Work, dag_id: str) -> DataInterval | None:
    """The newest scheduled run's."""
    row = work.conn.execute(
        text(
            "SELECT data_interval_start, data_interval_end FROM dag_run WHERE dag_id = :dag_id "
            "AND run_type = 'scheduled' ORDER BY logical_date DESC LIMIT 1"
        ),
        {"dag_id": dag_id},
    ).one_or_none()
    return DataInterval(row[0], row[1]) if row else None


def pause(work: Work, dag_id: str, is_paused: bool) -> None:
    work.conn.execute(text("UPDATE dag SET is_paused = :p, updated_at = now() WHERE dag_id = :d"), {"p": is_paused, "d": dag_id})
    work.dag_changed(dag_id)
    work.due()


def retire(work: Work, path: str, keep: Sequence[str]) -> list[str]:
    """DAGs that ``path`` no longer defines leave the list; their history stays."""
    gone = (
        work.conn.execute(
            text(
                "UPDATE dag SET is_active = false, next_run_at = NULL WHERE fileloc = :path AND is_active "
                "AND NOT dag_id = ANY(:keep) RETURNING dag_id"
            ),
            {"path": path, "keep": list(keep)},
        )
        .scalars()
        .all()
    )
    for dag_id in gone:
        work.dag_changed(dag_id)
    return list(gone)


class Versions:
    """Specs and sources by version digest, remembered: a version never changes."""

    def __init__(self, size: int = 512):
        self._spec = lru_cache(maxsize=size)(codec.decode)
        self._known: dict[str, str] = {}
        self._size = size

    def specs(self, work: Work, versions: Sequence[str]) -> dict[str, DagSpec]:
        missing = [v for v in dict.fromkeys(versions) if v not in self._known]
        if missing:
            if len(self._known) > self._size:
                self._known.clear()
            rows = work.conn.execute(text("SELECT version, spec FROM dag_version WHERE version = ANY(:v)"), {"v": missing})
            self._known.update({r.version: r.spec for r in rows})
        try:
            return {v: self._spec(self._known[v]) for v in dict.fromkeys(versions)}
        except KeyError as e:
            raise NotFound(f"there is no DAG version {e.args[0]!r}") from None

    def spec(self, work: Work, version: str) -> DagSpec:
        return self.specs(work, [version])[version]


def source_of(work: Work, version: str) -> DagSource:
    row = work.conn.execute(text("SELECT source, segments, path FROM dag_version WHERE version = :v"), {"v": version}).one_or_none()
    if row is None:
        raise NotFound(f"there is no DAG version {version!r}")
    return DagSource(row.source, tuple(Segment(*s) for s in row.segments), row.path)
