"""The waiting of sensors."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from dagbook.authoring.sensors import BaseSensorOperator, PokeReturnValue
from dagbook.errors import RescheduleTask, SensorTimeout, SkipTask


def wait(sensor: BaseSensorOperator, look: Callable[[], Any], began: datetime | None) -> Any:
    """What ``look`` found, once it is true; ``began``: when this try first looked."""
    start = (began or datetime.now(UTC)).astimezone(UTC)
    looks = _looks_so_far(sensor, start)
    while True:
        found = look()
        if isinstance(found, PokeReturnValue) and found:
            return found.xcom_value
        if found:
            return None if found is True else found
        waited = (datetime.now(UTC) - start).total_seconds()
        if waited >= sensor.timeout:
            said = f"waited {waited:.0f} s for nothing; its timeout is {sensor.timeout:g} s"
            raise SkipTask(said) if sensor.soft_fail else SensorTimeout(said)
        pause = min(sensor.wait(looks), max(sensor.timeout - waited, 0.0))
        if sensor.mode == "reschedule":
            raise RescheduleTask(datetime.now(UTC) + timedelta(seconds=pause))
        looks += 1
        time.sleep(pause)


def _looks_so_far(sensor: BaseSensorOperator, start: datetime) -> int:
    """A sensor that left its worker between looks counts them from the time that has passed."""
    passed = (datetime.now(UTC) - start).total_seconds()
    looks = 0
    while sensor.mode == "reschedule" and looks < 60 and passed >= (pause := sensor.wait(looks)) > 0:
        passed -= pause
        looks += 1
    return looks
