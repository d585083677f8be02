"""By when something must be done, and what is late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from dagbook.decide.snapshot import RunView, TaskView
from dagbook.spec.models import DagSpec, Deadline

#: The name under which a run's own deadline is kept, beside those of its tasks.
RUN = ""


def deadlines(spec: DagSpec, logical_date: datetime, queued_at: datetime) -> Iterator[tuple[str, datetime]]:
    """(task id, or "" for the run; when it must be done) of each deadline."""
    if spec.deadline is not None:
        yield RUN, due_at(spec.deadline, logical_date, queued_at)
    for task in spec.tasks:
        if task.deadline is not None:
            yield task.task_id, due_at(task.deadline, logical_date, queued_at)


def due_at(deadline: Deadline, logical_date: datetime, queued_at: datetime) -> datetime:
    if deadline.reference == "fixed" and deadline.at is not None:
        return deadline.at + deadline.interval
    return (logical_date if deadline.reference == "logical_date" else queued_at) + deadline.interval


def missed(run: RunView, views: Mapping[str, TaskView], over: bool, now: datetime) -> tuple[str, ...]:
    """Deadlines that have passed unmet and aren't marked yet; ``over``: the run has just ended."""
    if run.logical_date is None or run.queued_at is None:
        return ()
    return tuple(
        name
        for name, at in deadlines(run.spec, run.logical_date, run.queued_at)
        if at <= now and name not in run.missed and not (over if name == RUN else views[name].finished)
    )
