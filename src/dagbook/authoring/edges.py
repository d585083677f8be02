"""``>>`` and ``<<``: who runs before whom."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagbook.authoring.operators import BaseOperator


class Edges:
    """What can be connected: tasks, results of tasks, task groups, labels."""

    @property
    def firsts(self) -> list[BaseOperator]:
        """The tasks that an upstream is put before."""
        raise NotImplementedError

    @property
    def lasts(self) -> list[BaseOperator]:
        """The tasks that a downstream is put after."""
        raise NotImplementedError

    def set_upstream(self, other: Any) -> None:
        for item in _items(other):
            connect(item, self)

    def set_downstream(self, other: Any) -> None:
        for item in _items(other):
            connect(self, item)

    def __rshift__(self, other: Any) -> Any:
        self.set_downstream(other)
        return other

    def __lshift__(self, other: Any) -> Any:
        self.set_upstream(other)
        return other

    def __rrshift__(self, other: Any) -> Any:
        self.set_upstream(other)
        return self

    def __rlshift__(self, other: Any) -> Any:
        self.set_downstream(other)
        return self


class Label(Edges):
    """A word on an edge: ``check >> Label("bad rows") >> alert``."""

    def __init__(self, label: str):
        self.label = label
        self._before: list[BaseOperator] = []
        self._after: list[BaseOperator] = []

    @property
    def firsts(self) -> list[BaseOperator]:
        return self._after

    @property
    def lasts(self) -> list[BaseOperator]:
        return self._before

    def note(self, before: Iterable[BaseOperator], after: Iterable[BaseOperator]) -> None:
        """One end, or both, of its edges; they are made once both are known."""
        self._before += before
        self._after += after
        for left in self._before:
            for right in self._after:
                right.upstream.add(left.task_id)
                right.labels[left.task_id] = self.label


def connect(left: Edges, right: Edges) -> None:
    """``right`` runs after ``left``."""
    if isinstance(left, Label):
        left.note((), right.firsts)
    elif isinstance(right, Label):
        right.note(left.lasts, ())
    else:
        for before in left.lasts:
            for after in right.firsts:
                after.upstream.add(before.task_id)


def _items(other: Any) -> list[Edges]:
    items = list(other) if isinstance(other, list | tuple | set) else [other]
    for item in items:
        if not isinstance(item, Edges):
            raise TypeError(f"{item!r} is no task; `>>` and `<<` connect tasks, results of tasks, task groups, and lists of them")
    return items


def chain(*tasks: Any) -> None:
    """``chain(a, [b, c], d)`` is ``a >> [b, c] >> d``; two lists of one length pair up."""
    for left, right in pairwise(tasks):
        lefts, rights = _items(left), _items(right)
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            if len(lefts) != len(rights):
                raise TypeError(f"chain() pairs lists of one length, not {len(lefts)} and {len(rights)}")
            for a, b in zip(lefts, rights, strict=True):
                a.set_downstream(b)
        else:
            cross_downstream(lefts, rights)


def chain_linear(*tasks: Any) -> None:
    """Every task of each element runs after every task of the one before: ``chain`` without pairing."""
    for left, right in pairwise(tasks):
        cross_downstream(_items(left), _items(right))


def cross_downstream(upstream: Iterable[Any], downstream: Iterable[Any]) -> None:
    """Every task of ``downstream`` depends on every task of ``upstream``."""
    after = list(downstream)
    for task in upstream:
        task.set_downstream(after)
