"""When something must be done by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class DeadlineAlert:
    """Done by ``interval`` after ``reference``: ``"logical_date"``, ``"queued_at"`` or a fixed datetime.

    A run or task that isn't is marked as late, and ``callback(context)`` is called once, in a process of its own.
    """

    reference: str | datetime
    interval: timedelta = timedelta(0)
    callback: Callable[[Any], Any] | None = None
