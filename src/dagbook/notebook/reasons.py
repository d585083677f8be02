"""The answer to ``%dag why``: a chain of reasons that ends in what to do."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dagbook.wire.rest import ReasonBody, Why


def command(reason: ReasonBody) -> str | None:
    """What to type in a cell, or in a terminal."""
    if reason.fix is None:
        return None
    return f"!{reason.fix}" if reason.fix.startswith("dagbook ") else f"%dag {reason.fix}"


class Reasons:
    def __init__(self, why: Why):
        self.why = why

    @property
    def fix(self) -> str | None:
        """The first command that unblocks it."""
        return next((command(r) for r in self.why.reasons if r.fix), None)

    def __iter__(self) -> Iterator[ReasonBody]:
        return iter(self.why.reasons)

    def __repr__(self) -> str:
        head = self.why.subject + (f": {self.why.state}" if self.why.state else "")
        lines = [head]
        for r in self.why.reasons:
            lines.append(f"  • {r.text}" + (f"\n      → {command(r)}" if r.fix else ""))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = escape(self.why.subject) + (f": <b>{escape(self.why.state)}</b>" if self.why.state else "")
        items = "".join(f"<li>{escape(r.text)}{self._fix_html(r)}</li>" for r in self.why.reasons)
        return f"<div>{head}<ol style='margin:4px 0'>{items}</ol></div>"

    @staticmethod
    def _fix_html(reason: ReasonBody) -> str:
        said = command(reason)
        return f"<br>→ <code>{escape(said)}</code>" if said else ""
