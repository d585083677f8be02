"""The notebook as its kernel ran it: cells, the statements that made names, and the names' values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dagbook.notebook.slicing.names import made


@dataclass(frozen=True)
class Cell:
    """One executed cell; ``text`` as Python saw it (shell and magic lines already turned into calls)."""

    number: int
    text: str

    @property
    def label(self) -> str:
        return f"Cell [{self.number}]"

    @cached_property
    def statements(self) -> Sequence[ast.stmt]:
        """Empty where the cell is no Python."""
        try:
            return ast.parse(self.text).body
        except (SyntaxError, ValueError):
            return ()


@dataclass(frozen=True)
class Definition:
    """The statement that made a name last."""

    cell: Cell
    statement: ast.stmt

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line in the cell, decorators included."""
        decorators = getattr(self.statement, "decorator_list", [])
        first = min([self.statement.lineno, *(d.lineno for d in decorators)])
        return first, self.statement.end_lineno or self.statement.lineno

    @property
    def text(self) -> str:
        first, last = self.lines
        return "\n".join(self.cell.text.splitlines()[first - 1 : last])


class History:
    """Cells in the order they were run, and the kernel's names now."""

    def __init__(self, cells: Sequence[Cell], namespace: Mapping[str, Any]):
        self._cells, self.namespace = cells, namespace

    def definition(self, name: str) -> Definition | None:
        """Where ``name`` was bound last, or ``None`` when no cell shows it."""
        for cell in reversed(self._cells):
            for statement in reversed(cell.statements):
                if name in made(statement):
                    return Definition(cell, statement)
        return None
