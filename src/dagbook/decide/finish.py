"""A try ended badly: retry or fail, and when."""

from __future__ import annotations

from datetime import datetime, timedelta

from dagbook.spec.models import RetryPolicy
from dagbook.states import TaskState

#: Beyond this no delay grows, whatever the arithmetic says.
LONGEST_DELAY = timedelta(days=1)


def on_failure(
    policy: RetryPolicy, try_number: int, max_tries: int, now: datetime, *, retryable: bool, jitter: float
) -> tuple[TaskState, datetime | None]:
    """(up_for_retry, when) or (failed, None).  ``jitter`` in [0, 1) is drawn by the caller."""
    if not retryable or try_number >= max_tries:
        return TaskState.FAILED, None
    return TaskState.UP_FOR_RETRY, now + delay(policy, try_number, jitter)


def delay(policy: RetryPolicy, try_number: int, jitter: float) -> timedelta:
    """The plain delay, or with exponential back-off a full jitter over ``delay * 2**(try-1)``, capped."""
    if not policy.exponential:
        return policy.delay
    ceiling = policy.max_delay or LONGEST_DELAY
    doublings = min(max(try_number - 1, 0), 40)
    seconds = min(policy.delay.total_seconds() * 2**doublings, ceiling.total_seconds())
    return timedelta(seconds=seconds * jitter)
