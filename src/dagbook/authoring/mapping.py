"""How a task, or a task group, is multiplied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dagbook.authoring.arguments import ConcatXComArg, MapXComArg, Reference, XComArg, ZipXComArg
from dagbook.authoring.place import caller
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.models import Expansion, MapSource


class MappedOver:
    """Keyword → list, dict or reference; or one list of keyword dicts, of which a group's function takes ``names``."""

    def __init__(self, arguments: Mapping[str, Any] | None = None, kwargs_list: Any = None, names: Sequence[str] = ()):
        self.arguments = dict.fromkeys(names) if kwargs_list is not None else dict(arguments or {})
        self.kwargs_list = kwargs_list

    @property
    def sources(self) -> dict[str, Any]:
        return self.arguments if self.kwargs_list is None else {"": self.kwargs_list}

    def freeze(self) -> Expansion:
        kind = "kwargs" if self.kwargs_list is not None else "product"
        return Expansion(kind, tuple(_source(name, v) for name, v in self.sources.items()))  # type: ignore[arg-type]


def _source(name: str, value: Any) -> MapSource:
    if isinstance(value, XComArg):
        return MapSource(name, task_id=value.operator.task_id, key=value.key, path=value.path)
    if isinstance(value, MapXComArg):
        return _source(name, value.source)
    if isinstance(value, ZipXComArg):
        return MapSource(name, combine="longest" if value.longest else "zip", parts=tuple(_source("", p) for p in value.parts))
    if isinstance(value, ConcatXComArg):
        return MapSource(name, combine="concat", parts=tuple(_source("", p) for p in value.parts))
    return MapSource(name, length=len(value))


def mappable(name: str, values: Any) -> None:
    """Raise ``InvalidDag`` unless ``values`` can be mapped over."""
    if isinstance(values, str | bytes) or not isinstance(values, list | tuple | dict | range | Reference):
        what = type(values).__name__
        raise InvalidDag([Fault(f"{name}= maps over a list, a dict or an upstream result, not {what}", *caller())])
