"""``DAG`` and ``@dag``: the container that operators register with while a module is loaded."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dagbook.authoring.params import Param
from dagbook.authoring.place import caller

if TYPE_CHECKING:
    from dagbook.authoring.groups import TaskGroup
    from dagbook.authoring.operators import BaseOperator

_open: list[DAG] = []
_collected: list[list[DAG]] = []


class DAG:
    """A directed acyclic graph of tasks and when to run it; names and defaults follow Airflow's.

    ``schedule``: 5-field cron, a preset such as ``"@daily"``, a ``timedelta``, datasets, a timetable, or ``None``.
    ``timezone``: IANA name; without it, that of ``start_date``, else UTC.
    ``on_success_callback``, ``on_failure_callback``: called with the context when a run has ended, in a process of its own.
    """

    def __init__(
        self,
        dag_id: str,
        *,
        schedule: Any = None,
        start_date: datetime | None = None,
        end_date: datetime | None = None,
        timezone: str | None = None,
        catchup: bool = False,
        default_args: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        max_active_runs: int = 16,
        max_active_tasks: int = 16,
        dagrun_timeout: timedelta | None = None,
        fail_fast: bool = False,
        deadline: Any = None,
        on_success_callback: Any = None,
        on_failure_callback: Any = None,
        user_defined_macros: Mapping[str, Any] | None = None,
        user_defined_filters: Mapping[str, Callable[..., Any]] | None = None,
        description: str | None = None,
        doc_md: str | None = None,
    ):
        self.dag_id = dag_id
        self.schedule = schedule
        self.default_args: dict[str, Any] = dict(default_args or {})
        self.start_date = start_date or self.default_args.get("start_date")
        self.end_date = end_date or self.default_args.get("end_date")
        self.timezone = timezone
        self.catchup = catchup
        self.params = {k: v if isinstance(v, Param) else Param(v) for k, v in (params or {}).items()}
        self.tags = tuple(tags)
        self.max_active_runs, self.max_active_tasks = max_active_runs, max_active_tasks
        self.dagrun_timeout, self.fail_fast, self.deadline = dagrun_timeout, fail_fast, deadline
        self.on_success_callback, self.on_failure_callback = on_success_callback, on_failure_callback
        self.user_defined_macros, self.user_defined_filters = dict(user_defined_macros or {}), dict(user_defined_filters or {})
        self.description, self.doc_md = description, doc_md
        self.operators: list[BaseOperator] = []
        self.groups: list[TaskGroup] = []
        #: Task groups, setups and teardowns whose ``with`` blocks are open, outer ones first.
        self.entered: list[TaskGroup] = []
        self.scopes: list[BaseOperator] = []
        self.place = caller()
        for collection in _collected:
            collection.append(self)

    def __enter__(self) -> DAG:
        _open.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _open.remove(self)

    @property
    def task_ids(self) -> list[str]:
        return [o.task_id for o in self.operators]

    def get_task(self, task_id: str) -> BaseOperator:
        return next(o for o in self.operators if o.task_id == task_id)

    def unique_task_id(self, wanted: str) -> str:
        """``wanted``, or ``wanted__1``, ``wanted__2``, … where the same ``@task`` is called again in the same group."""
        return self._unique(wanted, set(self.task_ids))

    def unique_group_id(self, wanted: str) -> str:
        return self._unique(wanted, {g.group_id for g in self.groups})

    def _unique(self, wanted: str, taken: set[str]) -> str:
        group = current_group(self)
        full = group.child_id if group else str
        names = itertools.chain([wanted], (f"{wanted}__{n}" for n in itertools.count(1)))
        return next(name for name in names if full(name) not in taken)

    def test(self, **options: Any) -> Any:
        """One run in this process, breakpoints and all; see ``dagbook.testing.test_run``."""
        return importlib.import_module("dagbook.testing.inprocess").test_run(self, **options)


def current_dag() -> DAG | None:
    return _open[-1] if _open else None


def current_group(dag: DAG) -> TaskGroup | None:
    return dag.entered[-1] if dag.entered else None


@contextmanager
def collect() -> Iterator[list[DAG]]:
    """Gather every DAG made inside the block, in order of creation."""
    found: list[DAG] = []
    _collected.append(found)
    try:
        yield found
    finally:
        _collected.remove(found)


def dag(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Turn a function into a DAG factory: calling it builds the DAG; ``dag_id`` defaults to its name."""

    def decorate(f: Callable[..., Any]) -> Callable[..., DAG]:
        @functools.wraps(f)
        def build(*args: Any, **kwargs: Any) -> DAG:
            given = {"doc_md": f.__doc__, **options}
            made = DAG(given.pop("dag_id", f.__name__), **given)
            with made:
                f(*args, **kwargs)
            return made

        return build

    return decorate(function) if function is not None else decorate
