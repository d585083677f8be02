"""``@task`` and its kin: functions that become tasks when they are called inside a DAG."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from dagbook.authoring.arguments import XComArg
from dagbook.authoring.branching import BranchPythonOperator, ShortCircuitOperator
from dagbook.authoring.builder import current_dag
from dagbook.authoring.operators import OPTIONS, UNUSED, BaseOperator, BashOperator, Partial, PythonOperator
from dagbook.authoring.sensors import SENSOR_OPTIONS, PythonSensor
from dagbook.errors import nearest


class BashFunctionOperator(BashOperator):
    """``@task.bash``: the function returns the command."""

    template_fields: ClassVar[tuple[str, ...]] = ("op_args", "op_kwargs", "env", "cwd")

    def __init__(self, task_id: str, python_callable: Callable[..., str], op_args: Any = (), op_kwargs: Any = None, **options: Any):
        self.python_callable, self.op_args, self.op_kwargs = python_callable, list(op_args), dict(op_kwargs or {})
        super().__init__(task_id, "", **options)


#: Kind of ``@task`` → (operator, the options that it has beside those of every task).
_KINDS: dict[str, tuple[Callable[..., BaseOperator], tuple[str, ...]]] = {
    "python": (PythonOperator, ()),
    "branch": (BranchPythonOperator, ()),
    "short_circuit": (ShortCircuitOperator, ("ignore_downstream_trigger_rules",)),
    "bash": (BashFunctionOperator, ("env", "append_env", "cwd", "skip_on_exit_code")),
    "sensor": (PythonSensor, SENSOR_OPTIONS),
}


class TaskFunction:
    """Calling it makes a task and returns its future result; ``.expand`` maps it."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], kind: str = "python"):
        _, own = _KINDS[kind]
        allowed = [*OPTIONS, *own, "task_id"]
        options = {k: v for k, v in options.items() if k not in UNUSED}
        unknown = sorted(set(options) - set(allowed))
        if unknown:
            raise TypeError(f"@task has no option {unknown[0]!r}{nearest(unknown[0], allowed)}")
        self.function, self.kind = function, kind
        self._options = options
        self._scoping: dict[str, Any] | None = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> XComArg:
        self._check_arguments(args, kwargs)
        return self._make(args, kwargs).output

    def _make(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseOperator:
        options = dict(self._options)
        dag = current_dag()
        wanted = options.pop("task_id", self.function.__name__)
        options.setdefault("doc_md", inspect.getdoc(self.function))
        make, _ = _KINDS[self.kind]
        made = make(dag.unique_task_id(wanted) if dag else wanted, self.function, args, kwargs, **options)
        if self._scoping is not None:
            made.as_teardown(**self._scoping) if self._scoping else made.as_setup()
        return made

    def scoped(self, **scoping: Any) -> TaskFunction:
        """A setup, or with arguments a teardown, each time it is called."""
        self._scoping = scoping
        return self

    def _check_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse a call that the function could never take, while its author looks at it."""
        signature = inspect.signature(self.function)
        try:
            signature.bind_partial(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"task {self.function.__name__!r}{signature} can't be called so: {e}") from None

    def partial(self, **fixed: Any) -> Partial:
        self._check_arguments((), fixed)
        return Partial(lambda kwargs, _: self._make((), kwargs), fixed)

    def expand(self, **mapped: Any) -> XComArg:
        self._check_arguments((), mapped)
        return self.partial().expand(**mapped)

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        return self.partial().expand_kwargs(kwargs)

    def override(self, **options: Any) -> TaskFunction:
        """The same function with other options, such as another ``task_id``."""
        made = TaskFunction(self.function, {**self._options, **options}, self.kind)
        made._scoping = self._scoping
        return made


class TaskDecorator:
    """``@task`` and ``@task(retries=2)``; ``@task.branch``, ``.short_circuit``, ``.bash`` and ``.sensor`` likewise."""

    def __init__(self, kind: str):
        self._kind = kind
        if kind == "python":
            for other in _KINDS:
                setattr(self, other, self if other == "python" else TaskDecorator(other))

    def __call__(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        if function is not None:
            return TaskFunction(function, options, self._kind)
        return lambda f: TaskFunction(f, options, self._kind)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"@task has no kind {name!r}{nearest(name, list(_KINDS))}")


task = TaskDecorator("python")


def setup(function: Callable[..., Any] | TaskFunction) -> TaskFunction:
    """``@setup`` over a function or over ``@task``: its tasks are setups."""
    return (function if isinstance(function, TaskFunction) else TaskFunction(function, {})).scoped()


def teardown(function: Callable[..., Any] | TaskFunction | None = None, /, *, on_failure_fail_dagrun: bool = False) -> Any:
    """``@teardown``: its tasks are teardowns; their failure fails the run only with ``on_failure_fail_dagrun=True``."""

    def decorate(f: Callable[..., Any] | TaskFunction) -> TaskFunction:
        made = f if isinstance(f, TaskFunction) else TaskFunction(f, {})
        return made.scoped(on_failure_fail_dagrun=on_failure_fail_dagrun)

    return decorate(function) if function is not None else decorate
