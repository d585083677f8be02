"""Upstream results as a task sees them: fetched when used, lazily for mapped upstreams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from dagbook.artifacts import codecs
from dagbook.authoring.arguments import ConcatXComArg, MappedArgument, MapXComArg, XComArg, ZipXComArg
from dagbook.authoring.mapping import MappedOver
from dagbook.authoring.operators import BaseOperator
from dagbook.decide.expand import positions
from dagbook.errors import FailTask
from dagbook.spec.models import RETURN_VALUE
from dagbook.wire.tasks import Indexes, Values, XComGet, XComIndexes
from dagbook.worker.channel import Channel


class MappedResult(Sequence[Any]):
    """The results of a mapped task in map_index order; each is fetched when it is looked at."""

    _CHUNK = 64

    def __init__(self, channel: Channel, task_id: str, key: str = RETURN_VALUE):
        self._channel, self._task_id, self._key = channel, task_id, key
        self._known: list[int] | None = None

    @property
    def indexes(self) -> list[int]:
        """The map indices that left a value; a skipped instance leaves none."""
        if self._known is None:
            reply = self._channel.ask(XComIndexes(self._task_id, self._key))
            assert isinstance(reply, Indexes)
            self._known = reply.indexes
        return self._known

    def __len__(self) -> int:
        return len(self.indexes)

    @overload
    def __getitem__(self, i: int) -> Any: ...
    @overload
    def __getitem__(self, i: slice) -> list[Any]: ...
    def __getitem__(self, i: int | slice) -> Any:
        wanted = self.indexes[i]
        if isinstance(wanted, list):
            return self._fetch(wanted)
        return self._fetch([wanted])[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), self._CHUNK):
            yield from self._fetch(self.indexes[start : start + self._CHUNK])

    def _fetch(self, indexes: list[int]) -> list[Any]:
        reply = self._channel.ask(XComGet(self._task_id, self._key, indexes))
        assert isinstance(reply, Values)
        return [codecs.decode(v.codec, v.data) for _, v in reply.values]

    def __repr__(self) -> str:
        return f"<{len(self)} results of {self._task_id!r}>"


class Zipped(Sequence[Any]):
    """Tuples of elements side by side."""

    def __init__(self, parts: list[Any], longest: bool, fillvalue: Any):
        self._parts, self._longest, self._fillvalue = parts, longest, fillvalue

    def __len__(self) -> int:
        return (max if self._longest else min)(len(p) for p in self._parts)

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return tuple(element(p, i) if i < len(p) else self._fillvalue for p in self._parts)


class Chained(Sequence[Any]):
    """The elements of each part, one after the other."""

    def __init__(self, parts: list[Any]):
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(p) for p in self._parts)

    def __getitem__(self, i: Any) -> Any:
        for part in self._parts:
            if i < len(part):
                return element(part, i)
            i -= len(part)
        raise IndexError(i)


class Mapped(Sequence[Any]):
    """Each element of ``source`` passed through ``function`` when it is looked at."""

    def __init__(self, source: Any, function: Any):
        self._source, self._function = source, function

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self._function(element(self._source, i))


def element(source: Any, index: int) -> Any:
    """A dict's elements are its (key, value) pairs."""
    return list(source.items())[index] if isinstance(source, dict) else source[index]


class Results:
    """Resolves references inside the arguments of one task instance; each upstream value is fetched once."""

    def __init__(self, channel: Channel, operator: BaseOperator | None = None, map_index: int = -1):
        self._channel, self._operator, self._map_index = channel, operator, map_index
        self._cache: dict[tuple[str, str], Any] = {}
        self._chosen: dict[str, Any] | None = None

    def of(self, operator: BaseOperator, key: str = RETURN_VALUE) -> Any:
        slot = (operator.task_id, key)
        if slot not in self._cache:
            self._cache[slot] = self._fetch(operator, key)
        return self._cache[slot]

    def _fetch(self, operator: BaseOperator, key: str) -> Any:
        group = operator.mapped_group
        if group is not None and self._operator is not None and self._operator.mapped_group is group:
            # Within a mapped group an index sees its own index's results.
            return self.pull(operator.task_id, key, map_index=self._map_index)
        return self.pull(operator.task_id, key, mapped=operator.mapping is not None or group is not None)

    def pull(self, task_id: str, key: str = RETURN_VALUE, *, mapped: bool = False, map_index: int = -1, default: Any = None) -> Any:
        """The value, ``default`` where there is none, or a lazy sequence for a mapped task."""
        if mapped:
            return MappedResult(self._channel, task_id, key)
        reply = self._channel.ask(XComGet(task_id, key, [map_index]))
        assert isinstance(reply, Values)
        return codecs.decode(reply.values[0][1].codec, reply.values[0][1].data) if reply.values else default

    def resolve(self, value: Any) -> Any:
        """``value`` with every reference in its lists, tuples, sets and dicts replaced."""
        match value:
            case XComArg():
                return _at(self.of(value.operator, value.key), value.path)
            case MappedArgument():
                return _at(self.chosen(value.group.mapping)[value.name], value.path)
            case MapXComArg():
                return Mapped(self.resolve(value.source), value.function)
            case ZipXComArg():
                return Zipped([self.resolve(p) for p in value.parts], value.longest, value.fillvalue)
            case ConcatXComArg():
                return Chained([self.resolve(p) for p in value.parts])
            case dict():
                return {k: self.resolve(v) for k, v in value.items()}
            case list() | tuple() | set() | frozenset():
                return type(value)(self.resolve(v) for v in value)
        return value

    def chosen(self, mapping: MappedOver | None) -> dict[str, Any]:
        """This instance's element of each expanded argument."""
        assert mapping is not None
        if self._chosen is None:
            self._chosen = self._choose(mapping)
        return self._chosen

    def _choose(self, mapping: MappedOver) -> dict[str, Any]:
        sources = {name: self.resolve(v) for name, v in mapping.sources.items()}
        if mapping.kwargs_list is not None:
            found = element(sources[""], self._map_index)
            if not isinstance(found, dict):
                raise FailTask(f"expand_kwargs: element {self._map_index} is a {type(found).__name__}, not a dict of arguments")
            return found
        where = positions({name: len(v) for name, v in sources.items()}, self._map_index)
        return {name: element(sources[name], i) for name, i in where.items()}


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value
