"""What a backfill does with each interval, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from dagbook.spec.models import DagSpec, DataInterval

#: Which finished runs each choice of ``reprocess`` runs again.
AGAIN: dict[str, tuple[str, ...]] = {"none": (), "failed": ("failed",), "completed": ("failed", "success")}


@dataclass(frozen=True, slots=True)
class Step:
    """One interval: ``run`` is the run that is there already; ``reason`` why the action is what it is."""

    interval: DataInterval
    action: Literal["create", "rerun", "skip"]
    reason: str
    run: int | None = None


def plan(intervals: Sequence[DataInterval], taken: Mapping[datetime, tuple[int, str]], reprocess: str, *, backwards: bool) -> list[Step]:
    """In the order in which they go; ``taken``: by logical date, the run that is there and its state."""
    steps = [_step(i, taken.get(i.start), reprocess) for i in intervals]
    return steps[::-1] if backwards else steps


def _step(interval: DataInterval, there: tuple[int, str] | None, reprocess: str) -> Step:
    if there is None:
        return Step(interval, "create", "it has no run")
    run, state = there
    if state in AGAIN[reprocess]:
        return Step(interval, "rerun", f"its run is {state}, and reprocess is {reprocess!r}", run)
    if state in ("queued", "running"):
        return Step(interval, "skip", f"its run is {state} now; it is never touched", run)
    least = "failed" if state == "failed" else "completed"
    return Step(interval, "skip", f"its run is {state}; reprocess {least!r} would run it again", run)


def refused(spec: DagSpec, *, backwards: bool) -> str | None:
    """Why a backfill of this DAG can't go in this order."""
    waiting = next((t.task_id for t in spec.tasks if t.depends_on_past), None)
    if backwards and waiting is not None:
        return f"DAG {spec.dag_id!r} can't be run backwards: task {waiting!r} has depends_on_past, so each run waits for the one before"
    return None
