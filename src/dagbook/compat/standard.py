"""Operators and sensors of Airflow's standard set that Dagbook has no names of its own for."""

from __future__ import annotations

import glob
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from dagbook.authoring.branching import BaseBranchOperator
from dagbook.authoring.operators import BaseOperator
from dagbook.authoring.sensors import BaseSensorOperator
from dagbook.compat.words import DateTimeSensor, WeekDay


class FileSensor(BaseSensorOperator):
    """Wait until ``filepath``, which may be a pattern, is there; of a folder, until a file is in it."""

    template_fields: ClassVar[tuple[str, ...]] = ("filepath",)

    def __init__(self, task_id: str, *, filepath: str, fs_conn_id: str = "fs_default", recursive: bool = False, **options: Any):
        super().__init__(task_id, **options)
        self.filepath, self.fs_conn_id, self.recursive = filepath, fs_conn_id, recursive
        self.link()

    def poke(self, context: Mapping[str, Any]) -> bool:
        for name in glob.iglob(str(self._base(context) / self.filepath), recursive=self.recursive):
            path = Path(name)
            if path.is_file() or any(p.is_file() for p in path.rglob("*")):
                return True
        return False

    def _base(self, context: Mapping[str, Any]) -> Path:
        """The connection's ``path``; an absolute ``filepath`` doesn't need one."""
        if Path(self.filepath).is_absolute():
            return Path()
        known = context["conn"].get(self.fs_conn_id)
        return Path(known.extra_dejson.get("path", "/") if known else "/")


class BashSensor(BaseSensorOperator):
    """Wait until ``bash_command`` exits with 0; with ``retry_exit_code``, any other code than these two fails."""

    template_fields: ClassVar[tuple[str, ...]] = ("bash_command", "env")

    def __init__(
        self, task_id: str, *, bash_command: str, env: Mapping[str, str] | None = None, retry_exit_code: int | None = None, **options: Any
    ):
        options.pop("output_encoding", None)
        super().__init__(task_id, **options)
        self.bash_command, self.env, self.retry_exit_code = bash_command, dict(env or {}), retry_exit_code
        self.link()

    def poke(self, context: Mapping[str, Any]) -> bool:
        code = subprocess.run(["bash", "-c", self.bash_command], env=self.env or None, check=False).returncode
        if code and self.retry_exit_code is not None and code != self.retry_exit_code:
            raise RuntimeError(f"the bash command exited with {code}; only 0 and {self.retry_exit_code} are expected")
        return code == 0


class TimeSensor(DateTimeSensor):
    """Wait until the wall clock of the DAG's zone shows ``target_time`` today."""

    def __init__(self, task_id: str, *, target_time: time, **options: Any):
        super().__init__(task_id, "", **options)
        self.time_of_day = target_time

    def execute(self, context: Mapping[str, Any]) -> None:
        self.target_time = datetime.combine(_today(self), self.time_of_day, _zone(self)).isoformat()
        super().execute(context)


class DayOfWeekSensor(BaseSensorOperator):
    """Wait for a day of the week: its name, a ``WeekDay``, or several of them."""

    def __init__(self, task_id: str, *, week_day: Any, use_task_logical_date: bool = False, **options: Any):
        options.pop("use_task_execution_day", None)
        super().__init__(task_id, **options)
        self.days, self.use_task_logical_date = _weekdays(week_day), use_task_logical_date

    def poke(self, context: Mapping[str, Any]) -> bool:
        return _day(self, context, self.use_task_logical_date) in self.days


class BranchDayOfWeekOperator(BaseBranchOperator):
    """Go on with ``follow_task_ids_if_true`` on the given days of the week, else with the others."""

    def __init__(
        self,
        task_id: str,
        *,
        follow_task_ids_if_true: Any,
        follow_task_ids_if_false: Any,
        week_day: Any,
        use_task_logical_date: bool = False,
        **options: Any,
    ):
        super().__init__(task_id, **options)
        self.if_true, self.if_false = follow_task_ids_if_true, follow_task_ids_if_false
        self.days, self.use_task_logical_date = _weekdays(week_day), use_task_logical_date

    def choose_branch(self, context: Mapping[str, Any]) -> Any:
        return self.if_true if _day(self, context, self.use_task_logical_date) in self.days else self.if_false


class BranchDateTimeOperator(BaseBranchOperator):
    """Go on with ``follow_task_ids_if_true`` between two moments, or two times of the day, else with the others."""

    def __init__(
        self,
        task_id: str,
        *,
        follow_task_ids_if_true: Any,
        follow_task_ids_if_false: Any,
        target_lower: datetime | time | None,
        target_upper: datetime | time | None,
        use_task_logical_date: bool = False,
        **options: Any,
    ):
        super().__init__(task_id, **options)
        if target_lower is None and target_upper is None:
            raise TypeError(f"task {task_id!r}: give target_lower, target_upper or both")
        self.if_true, self.if_false = follow_task_ids_if_true, follow_task_ids_if_false
        self.lower, self.upper, self.use_task_logical_date = target_lower, target_upper, use_task_logical_date

    def choose_branch(self, context: Mapping[str, Any]) -> Any:
        now = context["logical_date"] if self.use_task_logical_date else datetime.now(UTC)
        lower, upper = self._moment(self.lower, now), self._moment(self.upper, now)
        if lower and upper and lower > upper and isinstance(self.lower, time) and isinstance(self.upper, time):
            inside = now >= lower or now <= upper  # the span goes over midnight
        else:
            inside = (lower is None or lower <= now) and (upper is None or now <= upper)
        return self.if_true if inside else self.if_false

    def _moment(self, bound: datetime | time | None, now: datetime) -> datetime | None:
        zone = _zone(self)
        if isinstance(bound, time):
            return datetime.combine(now.astimezone(zone).date(), bound, bound.tzinfo or zone)
        return bound if bound is None or bound.tzinfo else bound.replace(tzinfo=zone)


def _zone(operator: BaseOperator) -> Any:
    dag = operator.dag
    if dag.timezone:
        return ZoneInfo(dag.timezone)
    return (dag.start_date and dag.start_date.tzinfo) or UTC


def _today(operator: BaseOperator) -> Any:
    return datetime.now(_zone(operator)).date()


def _day(operator: BaseOperator, context: Mapping[str, Any], by_logical_date: bool) -> int:
    return int(context["logical_date"].astimezone(_zone(operator)).isoweekday() if by_logical_date else _today(operator).isoweekday())


def _weekdays(given: Any) -> set[int]:
    items = [given] if isinstance(given, str | int) or not isinstance(given, Iterable) else list(given)
    try:
        return {int(WeekDay[i.upper()] if isinstance(i, str) else WeekDay(i)) for i in items}
    except (KeyError, ValueError):
        raise TypeError(f"week_day={given!r} is none of {', '.join(d.name for d in WeekDay)}") from None
