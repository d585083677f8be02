"""Datasets: pieces of data by name, whose new states can start DAGs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dagbook.authoring.timetables import DatasetOrTime
from dagbook.spec.models import ALIAS, DatasetCondition


class _Combining:
    def __and__(self, other: Any) -> DatasetAll:
        return DatasetAll(self, other)

    def __or__(self, other: Any) -> DatasetAny:
        return DatasetAny(self, other)


@dataclass(frozen=True)
class Dataset(_Combining):
    """A piece of data by URI; a task that lists it in ``outlets`` announces a new state of it when it succeeds."""

    uri: str
    extra: dict[str, Any] = field(default_factory=dict, hash=False, compare=False)


@dataclass(frozen=True)
class DatasetAlias(_Combining):
    """Datasets that are named at run time: ``outlet_events[alias].add(Dataset(...))`` in a task that has it in ``outlets``."""

    name: str


class DatasetAll(_Combining):
    """All of them have a new state: ``a & b``."""

    def __init__(self, *parts: Any):
        self.parts = parts


class DatasetAny(_Combining):
    """One of them has: ``a | b``."""

    def __init__(self, *parts: Any):
        self.parts = parts


def names(items: Iterable[Any]) -> tuple[str, ...]:
    """What outlets and inlets are kept as: URIs, and aliases with a mark before."""
    return tuple(name(i) for i in items)


def name(item: Any) -> str:
    if isinstance(item, DatasetAlias):
        return ALIAS + item.name
    return item.uri if isinstance(item, Dataset) else str(item)


def condition(schedule: Any) -> DatasetCondition | None:
    """``None`` when ``schedule`` says nothing of datasets; a list means all of them."""
    if isinstance(schedule, DatasetOrTime):
        found = condition(schedule.datasets)
        if found is None:
            raise ValueError(f"DatasetOrTime's datasets are {schedule.datasets!r}; give a dataset or a list of them")
        return found
    if isinstance(schedule, Dataset | DatasetAlias):
        return DatasetCondition("one", name(schedule))
    if isinstance(schedule, DatasetAll | DatasetAny):
        kind = "all" if isinstance(schedule, DatasetAll) else "any"
        return DatasetCondition(kind, parts=tuple(_part(p) for p in schedule.parts))  # type: ignore[arg-type]
    if isinstance(schedule, list | tuple | set):
        if not schedule:
            raise ValueError("schedule=[] names no dataset; give at least one, or None for runs by hand")
        parts = tuple(_part(p) for p in schedule)
        return parts[0] if len(parts) == 1 else DatasetCondition("all", parts=parts)
    return None


def _part(item: Any) -> DatasetCondition:
    found = condition(item)
    if found is None:
        raise ValueError(f"schedule holds {item!r}, a {type(item).__name__}; datasets are combined with datasets only")
    return found
