"""Pools: how many slots each has."""

from __future__ import annotations

from dagbook.errors import Conflict, Invalid, NotFound, nearest
from dagbook.store import pools
from dagbook.store.work import Work

DEFAULT = "default_pool"


def set_pool(work: Work, name: str, slots: int, description: str | None = None, include_deferred: bool | None = None) -> None:
    """Make it, or change its size; what waits for it is looked at again."""
    if not name.strip() or not name.isprintable() or len(name) > 250:
        raise Invalid(f"a pool's name has 1 to 250 characters that can be printed, not {name[:60]!r}")
    if not 0 <= slots < 2**31:
        raise Invalid(f"slots={slots} must be a whole number ≥ 0")
    pools.put(work, name, slots, description, include_deferred)


def delete(work: Work, name: str) -> None:
    """``Conflict`` while task instances are in it."""
    if name == DEFAULT:
        raise Conflict(f"{DEFAULT} can't be deleted: tasks without a pool of their own are in it")
    known = [p.name for p in pools.listing(work)]
    if name not in known:
        raise NotFound(f"there is no pool {name!r}{nearest(name, known)}")
    if n := pools.in_use(work, name):
        raise Conflict(f"pool {name!r} can't be deleted: {n} task instances wait for it or hold its slots")
    pools.delete(work, name)
