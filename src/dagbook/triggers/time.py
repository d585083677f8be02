"""Waiting for an instant."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

#: Longest sleep at a stretch, so that a clock that was set is noticed.
_STRETCH = 60.0


class DateTimeTrigger:
    """Fires at ``moment``, an aware ISO instant; the event is that text."""

    def __init__(self, moment: str):
        self.moment = datetime.fromisoformat(moment)

    async def run(self) -> str:
        while (left := (self.moment - datetime.now(UTC)).total_seconds()) > 0:
            await asyncio.sleep(min(left, _STRETCH))
        return self.moment.isoformat()
