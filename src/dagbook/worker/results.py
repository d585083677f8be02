"""Upstream results as a task sees them: fetched when used, lazily for mapped upstreams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from dagbook.artifacts import codecs
from dagbook.authoring.arguments import XComArg
from dagbook.authoring.operators import BaseOperator
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


class Results:
    """Resolves references inside arguments; each upstream value is fetched once."""

    def __init__(self, channel: Channel):
        self._channel = channel
        self._cache: dict[tuple[str, str], Any] = {}

    def of(self, operator: BaseOperator, key: str = RETURN_VALUE) -> Any:
        slot = (operator.task_id, key)
        if slot not in self._cache:
            self._cache[slot] = self.pull(operator.task_id, key, mapped=operator.mapping is not None)
        return self._cache[slot]

    def pull(self, task_id: str, key: str = RETURN_VALUE, *, mapped: bool = False) -> Any:
        """The value, ``None`` where there is none, or a lazy sequence for a mapped task."""
        if mapped:
            return MappedResult(self._channel, task_id, key)
        reply = self._channel.ask(XComGet(task_id, key, [-1]))
        assert isinstance(reply, Values)
        return codecs.decode(reply.values[0][1].codec, reply.values[0][1].data) if reply.values else None

    def resolve(self, value: Any) -> Any:
        """``value`` with every reference in its lists, tuples, sets and dicts replaced."""
        if isinstance(value, XComArg):
            found = self.of(value.operator, value.key)
            for step in value.path:
                found = found[step]
            return found
        if isinstance(value, dict):
            return {k: self.resolve(v) for k, v in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return type(value)(self.resolve(v) for v in value)
        return value
