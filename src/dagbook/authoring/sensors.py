"""Operators that wait; they hold no worker while they do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dagbook.authoring.operators import BaseOperator

_TRIGGER = "dagbook.triggers.time.DateTimeTrigger"


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
