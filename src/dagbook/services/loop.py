"""The clock and the pauses that every service shares."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class Backoff:
    """Pauses that double from ``first`` to ``most`` seconds until something works again."""

    def __init__(self, first: float = 0.2, most: float = 5.0):
        self._first, self._most, self._next = first, most, first

    def pause(self) -> float:
        pause, self._next = self._next, min(self._next * 2, self._most)
        return pause

    def reset(self) -> None:
        self._next = self._first
