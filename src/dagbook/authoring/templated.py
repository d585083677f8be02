"""Templates are looked at when a DAG is read, so that one that doesn't parse never waits for its run to say so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def syntax_fault(value: Any) -> str | None:
    """What is wrong with the first template in ``value`` that doesn't parse; unknown filters and names are left to the run."""
    found = [t for t in _texts(value) if "{{" in t or "{%" in t]
    if not found:
        return None
    from jinja2 import Environment, TemplateSyntaxError

    env = Environment(autoescape=False)
    for text in found:
        try:
            env.parse(text)
        except TemplateSyntaxError as e:
            return f"the template {short(text)} doesn't parse, line {e.lineno}: {e.message}"
    return None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from _texts(v)
    elif isinstance(value, list | tuple):
        for v in value:
            yield from _texts(v)


def short(text: str) -> str:
    """The first line, for a message."""
    line = text.strip().splitlines()[0] if text.strip() else text
    return repr(line if len(line) <= 60 else line[:60] + "…")
