"""What a task says of its outlets: ``context["outlet_events"][dataset].extra``, and datasets added to an alias."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dagbook.authoring.datasets import Dataset, DatasetAlias, name
from dagbook.errors import nearest
from dagbook.wire.tasks import DatasetNews


class OutletEvent:
    """``extra`` goes with the event; ``add`` names a dataset, where the outlet is an alias."""

    def __init__(self, outlet: Any):
        self._outlet = outlet
        self.extra: dict[str, Any] = dict(getattr(outlet, "extra", {}) or {})
        self._added: list[DatasetNews] = []

    def add(self, dataset: Dataset | str, extra: dict[str, Any] | None = None) -> None:
        if not isinstance(self._outlet, DatasetAlias):
            raise TypeError(f"{name(self._outlet)!r} is a dataset, not an alias: there is nothing to add to it")
        self._added.append(DatasetNews(name(dataset), dict(extra or {}), self._outlet.name))

    def news(self) -> list[DatasetNews]:
        if isinstance(self._outlet, DatasetAlias):
            return self._added
        return [DatasetNews(name(self._outlet), self.extra)] if self.extra else []


class OutletEvents:
    def __init__(self, outlets: Iterable[Any]):
        self._events = {name(o): OutletEvent(o) for o in outlets}

    def __getitem__(self, outlet: Any) -> OutletEvent:
        wanted = name(outlet)
        if wanted not in self._events:
            raise KeyError(f"{wanted!r} is none of the task's outlets{nearest(wanted, list(self._events))}")
        return self._events[wanted]

    def news(self) -> list[DatasetNews]:
        return [n for e in self._events.values() for n in e.news()]
