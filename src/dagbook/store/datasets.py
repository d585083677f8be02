"""Dataset events: written with what caused them, kept for each DAG that waits for them, used once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import text

from dagbook.spec.models import ALIAS, DatasetCondition
from dagbook.store import plain
from dagbook.store.work import Work
from dagbook.wire.tasks import EventInfo


@dataclass(frozen=True, slots=True)
class NewEvent:
    """Of ``uri``; ``run`` is ``None`` for one that came from outside."""

    uri: str
    extra: dict[str, Any] = field(default_factory=dict)
    alias: str | None = None
    run: int | None = None
    task_id: str | None = None
    map_index: int | None = None


# A paused, inactive or draft consumer collects nothing.
_PUT = text("""
    WITH news AS (
        INSERT INTO dataset_event (uri, extra, alias, source_run, source_task_id, source_map_index)
        SELECT w.uri, CAST(w.extra AS jsonb), w.alias, w.run, w.task_id, w.map_index
        FROM unnest(CAST(:uris AS text[]), CAST(:extras AS text[]), CAST(:aliases AS text[]), CAST(:runs AS bigint[]),
                    CAST(:task_ids AS text[]), CAST(:map_indexes AS int[])) AS w(uri, extra, alias, run, task_id, map_index)
        RETURNING id, uri, alias
    ), known AS (
        INSERT INTO dataset (uri) SELECT DISTINCT uri FROM news ON CONFLICT DO NOTHING
    ), pending AS (
        INSERT INTO dataset_pending (dag_id, event, name)
        SELECT c.dag_id, n.id, c.name FROM news n JOIN dataset_consumer c ON c.name = n.uri OR c.name = :mark || n.alias
        JOIN dag d ON d.dag_id = c.dag_id AND d.is_active AND NOT d.is_paused AND NOT d.is_draft
        RETURNING dag_id
    )
    SELECT (SELECT array_agg(id ORDER BY id) FROM news) AS ids, (SELECT array_agg(DISTINCT dag_id) FROM pending) AS woken
""")


def put(work: Work, events: Sequence[NewEvent]) -> list[int]:
    """Keep ``events`` and say so to the DAGs that wait for them; the events' numbers."""
    if not events:
        return []
    row = work.conn.execute(
        _PUT,
        {
            "uris": [plain.text(e.uri) for e in events],
            "extras": [plain.document(e.extra) for e in events],
            "aliases": [plain.text(e.alias) for e in events],
            "runs": [e.run for e in events],
            "task_ids": [e.task_id for e in events],
            "map_indexes": [e.map_index for e in events],
            "mark": ALIAS,
        },
    ).one()
    for dag_id in row.woken or ():
        work.dag_changed(dag_id)
        work.due()
    return list(row.ids)


def set_consumer(work: Work, dag_id: str, condition: DatasetCondition | None) -> None:
    """What ``dag_id`` waits for from now on; events of what it no longer asks for are dropped."""
    names = list(condition.names) if condition else []
    args = {"d": dag_id, "names": names}
    work.conn.execute(text("DELETE FROM dataset_consumer WHERE dag_id = :d AND NOT name = ANY(:names)"), args)
    work.conn.execute(text("DELETE FROM dataset_pending WHERE dag_id = :d AND NOT name = ANY(:names)"), args)
    if names:
        work.conn.execute(
            text("INSERT INTO dataset_consumer (name, dag_id) SELECT n, :d FROM unnest(CAST(:names AS text[])) n ON CONFLICT DO NOTHING"),
            args,
        )
        work.conn.execute(
            text(
                "INSERT INTO dataset (uri) SELECT n FROM unnest(CAST(:names AS text[])) n WHERE NOT starts_with(n, :mark) "
                "ON CONFLICT DO NOTHING"
            ),
            {"names": names, "mark": ALIAS},
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """A DAG with unused events: ``names`` of what has news.  Its row is locked."""

    dag_id: str
    version: str
    names: frozenset[str]
    first: datetime
    last: datetime
    unfinished: int
    max_active_runs: int


def waiting(work: Work, limit: int) -> list[Pending]:
    """DAGs that have unused events and a place for another run."""
    rows = work.conn.execute(
        text("""
            SELECT d.dag_id, d.version, p.names, p.first, p.last, o.n, d.max_active_runs
            FROM dag d,
                 LATERAL (SELECT array_agg(DISTINCT p.name) AS names, min(e.created_at) AS first, max(e.created_at) AS last
                          FROM dataset_pending p JOIN dataset_event e ON e.id = p.event WHERE p.dag_id = d.dag_id) p,
                 LATERAL (SELECT count(*) AS n FROM dag_run r WHERE r.dag_id = d.dag_id AND r.run_type = 'dataset'
                          AND r.state IN ('queued', 'running')) o
            WHERE d.dag_id IN (SELECT dag_id FROM dataset_pending) AND p.names IS NOT NULL
              AND NOT d.is_paused AND d.is_active AND NOT d.is_draft AND o.n < d.max_active_runs
            ORDER BY p.first LIMIT :limit FOR UPDATE OF d SKIP LOCKED
        """),
        {"limit": limit},
    )
    return [Pending(r.dag_id, r.version, frozenset(r.names), r.first, r.last, r.n, r.max_active_runs) for r in rows]


def use(work: Work, dag_id: str, run: int) -> None:
    """All of the DAG's unused events are ``run``'s now."""
    work.conn.execute(
        text(
            "WITH used AS (DELETE FROM dataset_pending WHERE dag_id = :d RETURNING event) "
            "INSERT INTO run_event (run, event) SELECT DISTINCT CAST(:run AS bigint), event FROM used"
        ),
        {"d": dag_id, "run": run},
    )


_EVENT = """
    SELECT e.id, e.uri, e.extra, e.alias, e.created_at, r.dag_id, r.run_id, e.source_task_id, e.source_map_index
    FROM dataset_event e LEFT JOIN dag_run r ON r.id = e.source_run
"""


@dataclass(frozen=True, slots=True)
class EventRow:
    id: int
    uri: str
    extra: dict[str, Any]
    alias: str | None
    created_at: datetime
    source_dag_id: str | None
    source_run_id: str | None
    source_task_id: str | None
    source_map_index: int | None


def of_run(work: Work, run: int) -> list[EventInfo]:
    """The events that started it, oldest first."""
    rows = work.conn.execute(text(_EVENT + "JOIN run_event u ON u.event = e.id WHERE u.run = :run ORDER BY e.id"), {"run": run})
    return [EventInfo(r.uri, r.extra, r.created_at, r.run_id, r.source_task_id) for r in rows]


def newest(work: Work, uri: str | None, limit: int) -> list[EventRow]:
    rows = work.conn.execute(
        text(_EVENT + "WHERE CAST(:uri AS text) IS NULL OR e.uri = :uri ORDER BY e.id DESC LIMIT :n"), {"uri": uri, "n": limit}
    )
    return [EventRow(*r) for r in rows]


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """``consumers``: DAGs that it starts; ``pending``: of them, those for which it has news that is not used yet."""

    uri: str
    events: int
    last: datetime | None
    consumers: list[str]
    pending: list[str]


def listing(work: Work, limit: int) -> list[DatasetRow]:
    rows = list(
        work.conn.execute(
            text(
                "SELECT d.uri, count(e.id) AS n, max(e.created_at) AS last FROM dataset d LEFT JOIN dataset_event e ON e.uri = d.uri "
                "GROUP BY d.uri ORDER BY d.uri LIMIT :n"
            ),
            {"n": limit},
        )
    )
    consumers: dict[str, list[str]] = defaultdict(list)
    pending: dict[str, list[str]] = defaultdict(list)
    uris = {"uris": [r.uri for r in rows]}
    for c in work.conn.execute(text("SELECT name, dag_id FROM dataset_consumer WHERE name = ANY(:uris) ORDER BY dag_id"), uris):
        consumers[c.name].append(c.dag_id)
    for p in work.conn.execute(text("SELECT DISTINCT name, dag_id FROM dataset_pending WHERE name = ANY(:uris)"), uris):
        pending[p.name].append(p.dag_id)
    return [DatasetRow(r.uri, r.n, r.last, consumers[r.uri], pending[r.uri]) for r in rows]


def pending_names(work: Work, dag_id: str) -> dict[str, int]:
    """Unused events of a DAG, counted by dataset or alias."""
    rows = work.conn.execute(text("SELECT name, count(*) AS n FROM dataset_pending WHERE dag_id = :d GROUP BY name"), {"d": dag_id})
    return {r.name: r.n for r in rows}
