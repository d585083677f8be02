"""``@task``: a function that becomes a task when it is called inside a DAG."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dagbook.authoring.arguments import XComArg
from dagbook.authoring.builder import current_dag
from dagbook.authoring.operators import OPTIONS, Partial, PythonOperator
from dagbook.errors import nearest


class TaskFunction:
    """Calling it makes a task and returns its future result; ``.expand`` maps it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        unknown = sorted(set(options) - set(OPTIONS) - {"task_id"})
        if unknown:
            raise TypeError(f"@task has no option {unknown[0]!r}{nearest(unknown[0], [*OPTIONS, 'task_id'])}")
        self.function = function
        self._options = options
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> XComArg:
        self._check_arguments(args, kwargs)
        return self._make(args, kwargs).output

    def _make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PythonOperator:
        options = dict(self._options)
        dag = current_dag()
        wanted = options.pop("task_id", self.function.__name__)
        options.setdefault("doc_md", inspect.getdoc(self.function))
        return PythonOperator(
            dag.unique_task_id(wanted) if dag else wanted, self.function, args, kwargs, **options
        )

    def _check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse a call that the function could never take, while its author looks at it."""
        signature = inspect.signature(self.function)
        try:
            signature.bind_partial(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"task {self.function.__name__!r}{signature} can't be called so: {e}") from None

    def partial(self, **fixed: Any) -> Partial:
        self._check_arguments((), fixed)
        return Partial(lambda kwargs: self._make((), kwargs), fixed)

    def expand(self, **mapped: Any) -> XComArg:
        self._check_arguments((), mapped)
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        return self.partial().expand_kwargs(kwargs)

    def override(self, **options: Any) -> TaskFunction:
        """The same function with other options, such as another ``task_id``."""
        return TaskFunction(self.function, {**self._options, **options})


def task(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a task of a function: ``@task`` or ``@task(retries=2)``."""
    if function is not None:
        return TaskFunction(function, options)
    return lambda f: TaskFunction(f, options)
