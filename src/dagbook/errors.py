"""One base for every error that Dagbook raises; each says what happened, where, and what to do."""

from __future__ import annotations

from datetime import datetime


class DagbookError(Exception):
    """Something went wrong; the message says what, where, and what to do."""

    #: A stable word for programs; the REST API sends it beside the message.
    code = "error"


class NotFound(DagbookError):
    """The thing named does not exist; the message says which ones do."""

    code = "not_found"


class Conflict(DagbookError):
    """The request contradicts what is there already."""

    code = "conflict"


class Invalid(DagbookError):
    """The input is wrong; the message names the field and the value."""

    code = "invalid"


class InvalidDag(Invalid):
    """The DAG definition has faults, all of them listed, each with its place."""

    code = "invalid_dag"

    def __init__(self, faults: list[Fault]):
        self.faults = faults
        super().__init__("\n".join(str(f) for f in faults))


class Fault:
    """One thing wrong with a DAG: what, where (``origin`` is a file or a cell), and what to do."""

    def __init__(self, message: str, origin: str | None = None, line: int | None = None):
        self.message, self.origin, self.line = message, origin, line

    def __str__(self) -> str:
        where = f"{self.origin}, line {self.line}: " if self.origin and self.line else ""
        return f"{where}{self.message}"


class EngineUnavailable(DagbookError):
    """No Dagbook engine answers; start one with: dagbook standalone"""

    code = "engine_unavailable"


class DatabaseUnavailable(DagbookError):
    """The metadata database does not answer."""

    code = "database_unavailable"


class StaleTry(DagbookError):
    """This try is no longer the current one; its report is refused and it should exit."""

    code = "stale_try"


# Raised by user code inside a task -----------------------------------------------------------


class SkipTask(DagbookError):
    """Raise in a task to end it as ``skipped``."""

    code = "skip"


class FailTask(DagbookError):
    """Raise in a task to fail it now, whatever retries are left."""

    code = "fail_now"


class RescheduleTask(DagbookError):
    """Raise in a task to leave the worker and run it again, from the start, at ``at`` (an aware datetime); no try is used up."""

    code = "reschedule"

    def __init__(self, at: datetime):
        self.at = at
        super().__init__(f"waits until {at.isoformat()}")


class SensorTimeout(FailTask):
    """A sensor waited longer than its ``timeout``; it fails without another try."""

    code = "sensor_timeout"


class TaskDeferred(DagbookError):
    """What ``BaseOperator.defer`` raises: the task leaves its worker and waits for ``trigger``."""

    code = "deferred"

    def __init__(self, trigger: str, kwargs: dict[str, object], method: str, timeout: float | None):
        self.trigger, self.kwargs, self.method, self.timeout = trigger, kwargs, method, timeout
        super().__init__(f"waits for {trigger}")


def nearest(word: str, known: list[str]) -> str:
    """Return ``"; did you mean 'x'?"`` or a list of what exists, for the end of an error message."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=2, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not known:
        return "; there are none yet"
    shown = ", ".join(sorted(known)[:20])
    return f"; there are: {shown}" + (" …" if len(known) > 20 else "")
