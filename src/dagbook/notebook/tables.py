"""A small table that reads well as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


class Table:
    def __init__(self, head: Sequence[str], rows: Sequence[Sequence[str]], empty: str):
        self.head, self.rows, self._empty = list(head), [list(r) for r in rows], empty

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        if not self.rows:
            return self._empty
        widths = [max(len(r[i]) for r in [self.head, *self.rows]) for i in range(len(self.head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in [self.head, *self.rows]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<p>{escape(self._empty)}</p>"
        head = "".join(f"<th style='text-align:left'>{escape(h)}</th>" for h in self.head)
        body = "".join("<tr>" + "".join(f"<td style='text-align:left'>{escape(c)}</td>" for c in r) + "</tr>" for r in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
