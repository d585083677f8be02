"""Operators that wait.  The waiting itself is done in ``worker.sensing``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dagbook.authoring.operators import BaseOperator

_TRIGGER = "dagbook.triggers.time.DateTimeTrigger"
_MODES = ("poke", "reschedule")
#: What every sensor takes beside the options of every task.
SENSOR_OPTIONS = ("poke_interval", "timeout", "mode", "soft_fail", "exponential_backoff", "max_wait")


class PokeReturnValue:
    """What a look may return to end the wait, or not, and leave ``xcom_value`` as the result."""

    def __init__(self, is_done: bool, xcom_value: Any = None):
        self.is_done, self.xcom_value = is_done, xcom_value

    def __bool__(self) -> bool:
        return self.is_done


class BaseSensorOperator(BaseOperator):
    """Subclass it and write ``poke(context)``: something true ends the wait, and is the result where it isn't ``True``.

    ``mode="poke"`` holds a worker between looks, ``"reschedule"`` leaves it.  ``poke_interval`` and ``timeout`` in seconds
    or as ``timedelta``; with ``soft_fail`` a time-out skips instead of failing.
    """

    def __init__(
        self,
        task_id: str,
        *,
        poke_interval: float | timedelta = 60.0,
        timeout: float | timedelta = 7 * 86400.0,
        mode: str = "poke",
        soft_fail: bool = False,
        exponential_backoff: bool = False,
        max_wait: float | timedelta | None = None,
        **options: Any,
    ):
        for unused in ("deferrable", "silent_fail"):
            options.pop(unused, None)
        super().__init__(task_id, **options)
        if mode not in _MODES:
            raise TypeError(f"sensor {task_id!r}: mode={mode!r} is none of {', '.join(_MODES)}")
        self.poke_interval, self.timeout, self.mode = _seconds(poke_interval), _seconds(timeout), mode
        self.soft_fail, self.exponential_backoff = soft_fail, exponential_backoff
        self.max_wait = None if max_wait is None else _seconds(max_wait)

    def poke(self, context: Mapping[str, Any]) -> Any:
        raise TypeError(f"sensor {type(self).__name__} has no poke(context)")

    def wait(self, looks: int) -> float:
        """Seconds until the next look after ``looks`` ones."""
        if not self.exponential_backoff:
            return self.poke_interval
        return min(self.poke_interval * 2.0 ** min(looks, 40), self.max_wait or 86400.0)


def _seconds(value: float | timedelta) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else float(value)


class PythonSensor(BaseSensorOperator):
    """Wait until ``python_callable`` returns something true."""

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
        self.python_callable, self.op_args, self.op_kwargs = python_callable, list(op_args), dict(op_kwargs or {})
        self.link()


class DateTimeSensor(BaseOperator):
    """Wait until ``target_time``: an aware datetime, or its ISO text, which may be a template."""

    template_fields = ("target_time",)

    def __init__(self, task_id: str, target_time: datetime | str, **options: Any):
        super().__init__(task_id, **options)
        self.target_time = target_time.isoformat() if isinstance(target_time, datetime) else target_time
        self.link()

    def execute(self, context: Mapping[str, Any]) -> None:
        moment = datetime.fromisoformat(self.target_time)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        self.defer(_TRIGGER, {"moment": moment.isoformat()}, "execute_complete")

    def execute_complete(self, context: Mapping[str, Any], event: Any) -> None:
        """Nothing is left to do."""


class TimeDeltaSensor(BaseOperator):
    """Wait until ``delta`` after the end of the run's data interval."""

    def __init__(self, task_id: str, delta: timedelta, **options: Any):
        super().__init__(task_id, **options)
        self.delta = delta

    def execute(self, context: Mapping[str, Any]) -> None:
        moment = context["data_interval_end"] + self.delta
        self.defer(_TRIGGER, {"moment": moment.isoformat()}, "execute_complete")

    def execute_complete(self, context: Mapping[str, Any], event: Any) -> None:
        """Nothing is left to do."""
