"""Task groups: tasks under one name, which may be mapped together."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dagbook.authoring.arguments import MappedArgument, references
from dagbook.authoring.builder import DAG, current_dag, current_group
from dagbook.authoring.edges import Edges
from dagbook.authoring.mapping import MappedOver, mappable
from dagbook.authoring.operators import BaseOperator
from dagbook.authoring.place import caller


class TaskGroup(Edges):
    """Tasks made inside ``with TaskGroup("id"):`` get ``id.`` before theirs, unless ``prefix_group_id=False``."""

    def __init__(
        self,
        group_id: str,
        *,
        prefix_group_id: bool = True,
        parent_group: TaskGroup | None = None,
        dag: DAG | None = None,
        default_args: Mapping[str, Any] | None = None,
        tooltip: str = "",
        mapping: MappedOver | None = None,
        **_looks: Any,
    ):
        owner = dag or current_dag()
        if owner is None:
            raise TypeError(f"task group {group_id!r} is outside a DAG; put it in a `with DAG(...)` block or an @dag function")
        self.dag = owner
        self.parent = parent_group or current_group(owner)
        self.group_id = self.parent.child_id(group_id) if self.parent else group_id
        self.prefix_group_id, self.tooltip, self.mapping = prefix_group_id, tooltip, mapping
        self.default_args: dict[str, Any] = {**(self.parent.default_args if self.parent else {}), **(default_args or {})}
        self.place = caller()
        owner.groups.append(self)

    def child_id(self, wanted: str) -> str:
        if self.prefix_group_id:
            return f"{self.group_id}.{wanted}"
        return self.parent.child_id(wanted) if self.parent else wanted

    @property
    def path(self) -> tuple[str, ...]:
        """Ids from the outermost group to this one."""
        return (*(self.parent.path if self.parent else ()), self.group_id)

    @property
    def operators(self) -> list[BaseOperator]:
        return [o for o in self.dag.operators if o.group is not None and self.group_id in o.group.path]

    @property
    def firsts(self) -> list[BaseOperator]:
        """Tasks that wait for nothing inside the group."""
        inside = {o.task_id for o in self.operators}
        return [o for o in self.operators if not o.upstream & inside]

    @property
    def lasts(self) -> list[BaseOperator]:
        """Tasks that nothing inside the group waits for; teardowns don't hold up what comes after the group."""
        counting = [o for o in self.operators if not o.is_teardown]
        waited_for = {u for o in counting for u in o.upstream}
        return [o for o in counting if o.task_id not in waited_for]

    def link(self) -> None:
        """A mapped group waits for what it is mapped over."""
        sources = {o.task_id for ref in references(self.mapping.sources if self.mapping else {}) for o in ref.operators}
        for first in self.firsts:
            first.upstream |= sources

    def __enter__(self) -> TaskGroup:
        self.dag.entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.dag.entered.remove(self)
        self.link()

    def __repr__(self) -> str:
        return f"TaskGroup({self.group_id!r})"


class GroupFunction:
    """Calling it builds a task group; ``.expand`` builds one that is mapped."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self.function, self._options = function, options
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._build(None, args, kwargs)

    def _build(self, mapping: MappedOver | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function returned, or the group itself."""
        options = {"tooltip": inspect.getdoc(self.function) or "", **self._options}
        wanted = options.pop("group_id", self.function.__name__)
        dag = current_dag()
        group = TaskGroup(dag.unique_group_id(wanted) if dag else wanted, mapping=mapping, **options)
        with group:
            mapped = {name: MappedArgument(group, name) for name in (mapping.arguments if mapping else ())}
            made = self.function(*args, **kwargs, **mapped)
        return group if made is None else made

    def partial(self, **fixed: Any) -> PartialGroup:
        return PartialGroup(self, fixed)

    def expand(self, **mapped: Any) -> Any:
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Any) -> Any:
        return self.partial().expand_kwargs(kwargs)

    def override(self, **options: Any) -> GroupFunction:
        return GroupFunction(self.function, {**self._options, **options})


class PartialGroup:
    def __init__(self, function: GroupFunction, fixed: dict[str, Any]):
        self.function, self.fixed = function, fixed

    def expand(self, **mapped: Any) -> Any:
        """The whole group once for each element, each instance with its own index."""
        if not mapped:
            raise TypeError("expand() needs at least one argument to map over")
        twice = sorted(set(self.fixed) & set(mapped))
        if twice:
            raise TypeError(f"argument {twice[0]!r} is given to partial() and to expand()")
        for name, values in mapped.items():
            mappable(name, values)
        return self.function._build(MappedOver(mapped), (), self.fixed)

    def expand_kwargs(self, kwargs: Any) -> Any:
        mappable("expand_kwargs", kwargs)
        names = [n for n in inspect.signature(self.function.function).parameters if n not in self.fixed]
        return self.function._build(MappedOver(kwargs_list=kwargs, names=names), (), self.fixed)


def task_group(function: Callable[..., Any] | None = None, /, group_id: str | None = None, **options: Any) -> Any:
    """Make a task group of a function that makes tasks: ``@task_group`` or ``@task_group(group_id=...)``."""
    given = options if group_id is None else {"group_id": group_id, **options}
    if function is not None:
        return GroupFunction(function, given)
    return lambda f: GroupFunction(f, given)
