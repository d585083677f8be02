"""References to results that don't exist yet, and where they hide inside arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dagbook.authoring.edges import Edges
from dagbook.spec.models import RETURN_VALUE

if TYPE_CHECKING:
    from dagbook.authoring.groups import TaskGroup
    from dagbook.authoring.operators import BaseOperator

_NOTHING = object()


class Reference(Edges):
    """A value that a task will have once others have run."""

    @property
    def operators(self) -> list[BaseOperator]:
        """The tasks whose results it needs."""
        raise NotImplementedError

    @property
    def firsts(self) -> list[BaseOperator]:
        return self.operators

    @property
    def lasts(self) -> list[BaseOperator]:
        return self.operators

    def map(self, function: Callable[[Any], Any]) -> MapXComArg:
        """Each element passed through ``function``, when it is used; ``SkipTask`` in it skips that instance."""
        return MapXComArg(self, function)

    def zip(self, *others: Any, fillvalue: Any = _NOTHING) -> ZipXComArg:
        """Tuples of elements side by side, as many as the shortest has; with ``fillvalue``, as the longest."""
        return ZipXComArg([self, *others], fillvalue)

    def concat(self, *others: Any) -> ConcatXComArg:
        """The elements of each, one after the other."""
        return ConcatXComArg([self, *others])

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{self._what()} doesn't exist while the DAG is defined, so it can't be looped over; map over it with .expand(...)")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self._what()} doesn't exist while the DAG is defined, so it can't decide an 'if'; decide inside a task, or use @task.branch"
        )

    def _what(self) -> str:
        ids = ", ".join(repr(o.task_id) for o in self.operators)
        return f"the result of task {ids}"


class XComArg(Reference):
    """The future output of a task; ``path`` are the keys and indices taken from it with ``[...]``."""

    def __init__(self, operator: BaseOperator, key: str = RETURN_VALUE, path: tuple[Any, ...] = ()):
        self.operator, self.key, self.path = operator, key, path

    @property
    def operators(self) -> list[BaseOperator]:
        return [self.operator]

    def __getitem__(self, item: Any) -> XComArg:
        return XComArg(self.operator, self.key, (*self.path, item))

    def as_setup(self) -> XComArg:
        """Make it a setup: it runs before the tasks that need it, and is run again with them when they are cleared."""
        self.operator.as_setup()
        return self

    def as_teardown(self, *, setups: Any = None, on_failure_fail_dagrun: bool | None = None) -> XComArg:
        """Make it a teardown of ``setups``: it runs if they succeeded, whatever became of the tasks between."""
        self.operator.as_teardown(setups=setups, on_failure_fail_dagrun=on_failure_fail_dagrun)
        return self

    def __enter__(self) -> XComArg:
        self.operator.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.operator.__exit__(*exc)

    def __repr__(self) -> str:
        return f"XComArg({self.operator.task_id!r})"


class MapXComArg(Reference):
    """``source`` with ``function`` over each element."""

    def __init__(self, source: Reference, function: Callable[[Any], Any]):
        self.source, self.function = source, function

    @property
    def operators(self) -> list[BaseOperator]:
        return self.source.operators


class ZipXComArg(Reference):
    def __init__(self, parts: list[Any], fillvalue: Any = _NOTHING):
        self.parts, self._fillvalue = parts, fillvalue

    @property
    def longest(self) -> bool:
        return self._fillvalue is not _NOTHING

    @property
    def fillvalue(self) -> Any:
        return None if self._fillvalue is _NOTHING else self._fillvalue

    @property
    def operators(self) -> list[BaseOperator]:
        return [o for ref in references(self.parts) for o in ref.operators]


class ConcatXComArg(Reference):
    def __init__(self, parts: list[Any]):
        self.parts = parts

    @property
    def operators(self) -> list[BaseOperator]:
        return [o for ref in references(self.parts) for o in ref.operators]


class MappedArgument(Reference):
    """Inside a mapped task group: this instance's element of the argument ``name``."""

    def __init__(self, group: TaskGroup, name: str, path: tuple[Any, ...] = ()):
        self.group, self.name, self.path = group, name, path

    def __getitem__(self, item: Any) -> MappedArgument:
        return MappedArgument(self.group, self.name, (*self.path, item))

    @property
    def operators(self) -> list[BaseOperator]:
        """None of its own: the group waits for what it is mapped over."""
        return []

    def _what(self) -> str:
        return f"the argument {self.name!r} of the mapped task group {self.group.group_id!r}"


def references(value: Any) -> Iterator[Reference]:
    """Every reference inside ``value``'s lists, tuples, sets and dicts."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from references(part)
