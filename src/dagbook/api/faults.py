"""Errors to HTTP: the one place that knows both."""

from __future__ import annotations

import msgspec

from dagbook.errors import Conflict, DagbookError, DatabaseUnavailable, EngineUnavailable, Invalid, InvalidDag, NotFound
from dagbook.wire.rest import FaultBody, Problem

_STATUS: list[tuple[type[Exception], int]] = [
    (NotFound, 404),
    (Conflict, 409),
    (Invalid, 400),
    (msgspec.MsgspecError, 400),
    (DatabaseUnavailable, 503),
    (EngineUnavailable, 503),
]


def problem(error: BaseException) -> tuple[int, Problem]:
    """(status, body); what nobody foresaw is a 500 that tells no internals."""
    status = next((s for kind, s in _STATUS if isinstance(error, kind)), 500)
    if isinstance(error, InvalidDag):
        return status, Problem(error.code, str(error), [FaultBody(f.message, f.origin, f.line) for f in error.faults])
    if isinstance(error, DagbookError):
        return status, Problem(error.code, str(error))
    if isinstance(error, msgspec.MsgspecError):
        return status, Problem("invalid", f"the request's body is wrong: {error}")
    return status, Problem("internal", "something went wrong in the engine; the server's log tells more")
