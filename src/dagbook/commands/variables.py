"""Variables: values that tasks read by name."""

from __future__ import annotations

from dagbook.errors import Invalid, NotFound, nearest
from dagbook.store import secrets
from dagbook.store.work import Work

_LONGEST = 1_000_000


def set_variable(work: Work, key: str, value: str, description: str | None = None) -> None:
    if not key.strip() or not key.isprintable() or len(key) > 250:
        raise Invalid(f"a variable's name has 1 to 250 characters that can be printed, not {key[:60]!r}")
    if len(value) > _LONGEST:
        raise Invalid(f"the value of {key!r} has {len(value)} characters; at most {_LONGEST} are kept")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"the value of {key!r} holds a lone surrogate, which no text encoding has") from None
    secrets.set_variable(work, key, value, description)


def delete(work: Work, key: str) -> None:
    if not secrets.forget_variable(work, key):
        raise NotFound(f"there is no variable {key!r}{nearest(key, secrets.variable_keys(work))}")
