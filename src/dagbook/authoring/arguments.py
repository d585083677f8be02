"""References to results that don't exist yet, and where they hide inside arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dagbook.spec.models import RETURN_VALUE

if TYPE_CHECKING:
    from dagbook.authoring.operators import BaseOperator


class XComArg:
    """The future output of a task; ``path`` are the keys and indices taken from it with ``[...]``."""

    def __init__(self, operator: BaseOperator, key: str = RETURN_VALUE, path: tuple[Any, ...] = ()):
        self.operator, self.key, self.path = operator, key, path

    def __getitem__(self, item: Any) -> XComArg:
        return XComArg(self.operator, self.key, (*self.path, item))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"the result of task {self.operator.task_id!r} doesn't exist while the DAG is defined, so it can't be "
            "looped over; map over it with .expand(...)"
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"the result of task {self.operator.task_id!r} doesn't exist while the DAG is defined, so it can't "
            "decide an 'if'; decide inside a task"
        )

    def set_upstream(self, other: Any) -> None:
        self.operator.set_upstream(other)

    def set_downstream(self, other: Any) -> None:
        self.operator.set_downstream(other)

    def __rshift__(self, other: Any) -> Any:
        self.set_downstream(other)
        return other

    def __lshift__(self, other: Any) -> Any:
        self.set_upstream(other)
        return other

    def __rrshift__(self, other: Any) -> XComArg:
        self.set_upstream(other)
        return self

    def __rlshift__(self, other: Any) -> XComArg:
        self.set_downstream(other)
        return self

    def __repr__(self) -> str:
        return f"XComArg({self.operator.task_id!r})"


def references(value: Any) -> Iterator[XComArg]:
    """Every ``XComArg`` inside ``value``'s lists, tuples, sets and dicts."""
    if isinstance(value, XComArg):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from references(part)
