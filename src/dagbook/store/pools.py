"""Pools as rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from dagbook.store import plain
from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class PoolRow:
    name: str
    slots: int
    description: str | None
    include_deferred: bool
    occupied: int
    waiting: int


def listing(work: Work) -> list[PoolRow]:
    """By name, with the slots that are taken and the instances that wait for one."""
    rows = work.conn.execute(
        text(
            "SELECT p.name, p.slots, p.description, p.include_deferred, "
            "coalesce((SELECT sum(pool_slots) FROM task_instance t WHERE t.pool = p.name AND t.state IN ('queued', 'running')), 0) "
            "+ CASE WHEN p.include_deferred THEN "
            "coalesce((SELECT sum(pool_slots) FROM task_instance t WHERE t.pool = p.name AND t.state = 'deferred'), 0) ELSE 0 END, "
            "(SELECT count(*) FROM task_instance t WHERE t.pool = p.name AND t.state = 'scheduled') FROM pool p ORDER BY p.name"
        )
    )
    return [PoolRow(*r) for r in rows]


def put(work: Work, name: str, slots: int, description: str | None, include_deferred: bool | None) -> None:
    work.conn.execute(
        text(
            "INSERT INTO pool (name, slots, description, include_deferred) VALUES (:n, :s, :d, coalesce(:i, false)) "
            "ON CONFLICT (name) DO UPDATE SET slots = excluded.slots, description = coalesce(excluded.description, pool.description), "
            "include_deferred = coalesce(:i, pool.include_deferred)"
        ),
        {"n": name, "s": slots, "d": plain.text(description), "i": include_deferred},
    )
    # Reasons that named the old size are no longer true.
    work.conn.execute(text("UPDATE task_instance SET reason = NULL WHERE state = 'scheduled' AND pool = :n"), {"n": name})
    work.due()


def in_use(work: Work, name: str) -> int:
    return int(
        work.conn.execute(
            text("SELECT count(*) FROM task_instance WHERE pool = :n AND state IN ('scheduled', 'queued', 'running', 'deferred')"),
            {"n": name},
        ).scalar_one()
    )


def delete(work: Work, name: str) -> None:
    work.conn.execute(text("DELETE FROM pool WHERE name = :n"), {"n": name})
