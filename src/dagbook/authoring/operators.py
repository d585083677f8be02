"""Operators: what a task does, and its options.  Bodies run in ``worker``, never here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar, NoReturn

from dagbook.authoring.arguments import XComArg, references
from dagbook.authoring.builder import DAG, current_dag
from dagbook.authoring.params import Dataset
from dagbook.authoring.place import caller
from dagbook.errors import Fault, InvalidDag, TaskDeferred, nearest
from dagbook.spec.models import TriggerRule

#: Options that every operator takes and ``default_args`` may give.
OPTIONS: dict[str, Any] = {
    "retries": 0,
    "retry_delay": timedelta(minutes=5),
    "retry_exponential_backoff": False,
    "max_retry_delay": None,
    "trigger_rule": TriggerRule.ALL_SUCCESS,
    "pool": "default_pool",
    "pool_slots": 1,
    "priority_weight": 1,
    "weight_rule": "downstream",
    "queue": "default",
    "owner": "",
    "execution_timeout": None,
    "outlets": (),
    "doc_md": None,
}
_DAG_ONLY = {"start_date", "end_date"}


class MappedOver:
    """How a mapped task multiplies: keyword → list, dict or ``XComArg``; or one list of keyword dicts."""

    def __init__(self, arguments: Mapping[str, Any] | None = None, kwargs_list: Any = None):
        self.arguments = dict(arguments or {})
        self.kwargs_list = kwargs_list

    @property
    def sources(self) -> dict[str, Any]:
        return self.arguments if self.kwargs_list is None else {"": self.kwargs_list}


class BaseOperator:
    """One task of a DAG.  Subclass it, name ``template_fields``, and write ``execute(context)``."""

    template_fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, task_id: str, *, dag: DAG | None = None, **options: Any):
        owner = dag or current_dag()
        if owner is None:
            raise TypeError(f"task {task_id!r} is outside a DAG; put it in a `with DAG(...)` block or an @dag function")
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise TypeError(f"task {task_id!r} has no option {unknown[0]!r}{nearest(unknown[0], list(OPTIONS))}")
        self.dag, self.task_id = owner, task_id
        defaults = {k: v for k, v in owner.default_args.items() if k not in _DAG_ONLY}
        self.options = {**OPTIONS, **{k: v for k, v in defaults.items() if k in OPTIONS}, **options}
        self.upstream: set[str] = set()
        self.mapping: MappedOver | None = None
        self.place = caller()
        owner.operators.append(self)

    @property
    def output(self) -> XComArg:
        return XComArg(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """The templated fields by name: where upstream results may hide."""
        return {name: getattr(self, name) for name in self.template_fields}

    def execute(self, context: Mapping[str, Any]) -> Any:
        raise TypeError(f"operator {type(self).__name__} has no execute(context)")

    def defer(
        self, trigger: str, kwargs: Mapping[str, Any], method_name: str, timeout: timedelta | None = None
    ) -> NoReturn:
        """Leave the worker until ``trigger`` (an import path under ``dagbook.triggers``) fires.

        ``kwargs`` are plain JSON values.  Then ``method_name(context, event)`` runs, in a new process.
        """
        raise TaskDeferred(trigger, dict(kwargs), method_name, timeout.total_seconds() if timeout else None)

    def link(self) -> None:
        """Depend on every task whose output is among the arguments."""
        sources = self.mapping.sources if self.mapping else {}
        for ref in (*references(self.arguments), *references(sources)):
            self.upstream.add(ref.operator.task_id)

    def set_upstream(self, other: Any) -> None:
        for operator in _operators(other):
            self.upstream.add(operator.task_id)

    def set_downstream(self, other: Any) -> None:
        for operator in _operators(other):
            operator.upstream.add(self.task_id)

    def __rshift__(self, other: Any) -> Any:
        self.set_downstream(other)
        return other

    def __lshift__(self, other: Any) -> Any:
        self.set_upstream(other)
        return other

    def __rrshift__(self, other: Any) -> BaseOperator:
        self.set_upstream(other)
        return self

    def __rlshift__(self, other: Any) -> BaseOperator:
        self.set_downstream(other)
        return self

    @classmethod
    def partial(cls, **fixed: Any) -> Partial:
        """Fix some arguments; ``.expand(...)`` maps over the rest."""
        return Partial(lambda kwargs: cls(**kwargs), fixed)


class Partial:
    """A task with some arguments fixed, waiting to be told what to map over."""

    def __init__(self, make: Callable[[dict[str, Any]], BaseOperator], fixed: dict[str, Any]):
        self.make, self.fixed = make, fixed

    def expand(self, **mapped: Any) -> XComArg:
        """Run once for each element of each argument: lists, dicts or upstream results; several make the cross product."""
        if not mapped:
            raise TypeError("expand() needs at least one argument to map over")
        for name, values in mapped.items():
            _mappable(name, values)
        return self._mapped(MappedOver(mapped))

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        """Run once for each dict of arguments in ``kwargs``: a list, or an upstream result that is one."""
        _mappable("expand_kwargs", kwargs)
        return self._mapped(MappedOver(kwargs_list=kwargs))

    def _mapped(self, mapping: MappedOver) -> XComArg:
        twice = sorted(set(self.fixed) & set(mapping.arguments))
        if twice:
            raise TypeError(f"argument {twice[0]!r} is given to partial() and to expand()")
        operator = self.make(self.fixed)
        operator.mapping = mapping
        operator.link()
        return operator.output


class EmptyOperator(BaseOperator):
    """Does nothing: a place where edges meet."""

    def execute(self, context: Mapping[str, Any]) -> None:
        return None


class PythonOperator(BaseOperator):
    """Call ``python_callable`` with ``op_args`` and ``op_kwargs``; context names it declares are passed too."""

    template_fields = ("op_args", "op_kwargs")

    def __init__(
        self,
        task_id: str,
        python_callable: Callable[..., Any],
        op_args: Iterable[Any] = (),
        op_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ):
        super().__init__(task_id, **options)
        self.python_callable = python_callable
        self.op_args, self.op_kwargs = list(op_args), dict(op_kwargs or {})
        self.link()


class BashOperator(BaseOperator):
    """Run ``bash_command``; its last line of output is the result; exit code 99 skips."""

    template_fields = ("bash_command", "env")

    def __init__(self, task_id: str, bash_command: str, env: Mapping[str, str] | None = None, **options: Any):
        super().__init__(task_id, **options)
        self.bash_command, self.env = bash_command, dict(env or {})
        self.link()


def _operators(other: Any) -> list[BaseOperator]:
    items = other if isinstance(other, list | tuple) else [other]
    found = []
    for item in items:
        if isinstance(item, XComArg):
            found.append(item.operator)
        elif isinstance(item, BaseOperator):
            found.append(item)
        else:
            raise TypeError(f"{item!r} is no task; `>>` and `<<` connect tasks, results of tasks, and lists of them")
    return found


def _mappable(name: str, values: Any) -> None:
    if isinstance(values, str | bytes) or not isinstance(values, list | tuple | dict | range | XComArg):
        what = type(values).__name__
        raise InvalidDag(
            [Fault(f"{name}= maps over a list, a dict or an upstream result, not {what}", *caller())]
        )


def dataset_uris(outlets: Iterable[Any]) -> tuple[str, ...]:
    return tuple(o.uri if isinstance(o, Dataset) else str(o) for o in outlets)


def chain(*tasks: Any) -> None:
    """``chain(a, [b, c], d)`` is ``a >> [b, c] >> d``; two lists of one length pair up."""
    for left, right in pairwise(tasks):
        lefts, rights = _operators(left), _operators(right)
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            if len(lefts) != len(rights):
                raise TypeError(f"chain() pairs lists of one length, not {len(lefts)} and {len(rights)}")
            for a, b in zip(lefts, rights, strict=True):
                a.set_downstream(b)
        else:
            cross_downstream(lefts, rights)


def cross_downstream(upstream: Iterable[Any], downstream: Iterable[Any]) -> None:
    """Every task of ``downstream`` depends on every task of ``upstream``."""
    for task in upstream:
        task.set_downstream(list(downstream))
