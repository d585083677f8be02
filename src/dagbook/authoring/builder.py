"""``DAG`` and ``@dag``: the container that operators register with while a module is loaded."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dagbook.authoring.params import Param
from dagbook.authoring.place import caller

if TYPE_CHECKING:
    from dagbook.authoring.operators import BaseOperator

_open: list[DAG] = []
_collected: list[list[DAG]] = []


class DAG:
    """A directed acyclic graph of tasks and when to run it; names and defaults follow Airflow's.

    ``schedule``: 5-field cron, a preset such as ``"@daily"``, a ``timedelta``, or ``None``.
    ``timezone``: IANA name; without it, that of ``start_date``, else UTC.
    """

    def __init__(
        self,
        dag_id: str,
        *,
        schedule: str | timedelta | None = None,
        start_date: datetime | None = None,
        end_date: datetime | None = None,
        timezone: str | None = None,
        catchup: bool = False,
        default_args: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
        max_active_runs: int = 16,
        max_active_tasks: int = 16,
        description: str | None = None,
        doc_md: str | None = None,
    ):
        self.dag_id = dag_id
        self.schedule = schedule
        self.default_args = dict(default_args or {})
        self.start_date = start_date or self.default_args.get("start_date")
        self.end_date = end_date or self.default_args.get("end_date")
        self.timezone = timezone
        self.catchup = catchup
        self.params = {k: v if isinstance(v, Param) else Param(v) for k, v in (params or {}).items()}
        self.tags = tuple(tags)
        self.max_active_runs, self.max_active_tasks = max_active_runs, max_active_tasks
        self.description, self.doc_md = description, doc_md
        self.operators: list[BaseOperator] = []
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
        """``wanted``, or ``wanted__1``, ``wanted__2``, … where the same ``@task`` is called again."""
        taken = set(self.task_ids)
        if wanted not in taken:
            return wanted
        n = 1
        while f"{wanted}__{n}" in taken:
            n += 1
        return f"{wanted}__{n}"


def current_dag() -> DAG | None:
    return _open[-1] if _open else None


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
