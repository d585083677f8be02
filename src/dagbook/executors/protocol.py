"""What every executor offers the scheduler, and what it needs from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dagbook.spec.models import DagSource
from dagbook.wire.tasks import Reply, Request, TryKey, Workload


class TaskService(Protocol):
    """The engine's side of the task execution protocol; the same behind the socket pair and HTTP."""

    def handle(self, batch: Sequence[tuple[TryKey, Request]]) -> list[Reply]:
        """Answer every request, all writes in one transaction.  Repeating a batch is harmless."""
        ...

    def lost(self, key: TryKey, reason: str) -> None:
        """The try was handed over but never started: it waits to be queued again."""
        ...

    def refused(self, key: TryKey, reason: str) -> None:
        """The try can never start (its version doesn't load): it has failed."""
        ...

    def source(self, version: str) -> DagSource:
        """The module text of a version; ``NotFound`` when there is none."""
        ...


class Executor(Protocol):
    def start(self) -> None: ...

    def free(self) -> int:
        """How many more tries it can take now."""
        ...

    def in_flight(self) -> list[TryKey]:
        """The tries that it has taken and that have not ended."""
        ...

    def submit(self, workloads: Sequence[Workload]) -> None:
        """Never blocks; handing over the same try twice is harmless."""
        ...

    def terminate(self, keys: Sequence[TryKey], reason: str) -> None:
        """Stop what runs: SIGTERM, and SIGKILL after a grace time, to the whole process group."""
        ...

    def end(self) -> None: ...
