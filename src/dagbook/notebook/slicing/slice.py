"""From a ``%%dag`` cell to a module that any process can load, each line knowing the cell it came from."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dagbook import __all__ as PUBLIC
from dagbook.errors import Fault, InvalidDag, nearest
from dagbook.notebook.slicing import carry, names
from dagbook.notebook.slicing.cells import Cell, Definition, History
from dagbook.spec.models import DagSource, Segment

_HEADER = "from dagbook import " + ", ".join(PUBLIC)


@dataclass(frozen=True)
class DagOptions:
    """What the ``%%dag`` line says of the DAG; ``None`` and empty where it says nothing."""

    schedule: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    catchup: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        given = {
            "schedule": self.schedule,
            "start_date": self.start,
            "end_date": self.end,
            "catchup": self.catchup or None,
            "params": dict(self.params) or None,
            "tags": self.tags or None,
            **self.more,
        }
        return {k: v for k, v in given.items() if v is not None}


def slice_cell(dag_id: str, options: DagOptions, cell: Cell, history: History) -> DagSource:
    """``cell.text`` has a blank line for the ``%%dag`` line.  ``InvalidDag`` names every name that can't be carried, and why."""
    body = cell.text
    tree = _parsed(cell)
    carried = _Carried(history)
    for name in names.free(body):
        line, _ = names.place(body, name)
        carried.take(name, (cell.label, line))
    if carried.faults:
        raise InvalidDag(carried.faults)
    return _assembled(dag_id, options, cell, tree, carried)


def _parsed(cell: Cell) -> ast.Module:
    try:
        return ast.parse(cell.text)
    except SyntaxError as e:
        raise InvalidDag([Fault(f"SyntaxError: {e.msg}{_shown(e)}", cell.label, e.lineno or 1)]) from None
    except ValueError as e:  # a NUL character
        raise InvalidDag([Fault(str(e), cell.label, 1)]) from None


def _shown(error: SyntaxError) -> str:
    return f": {error.text.strip()}" if error.text and error.text.strip() else ""


class _Carried:
    """Definitions in the order in which a module needs them."""

    def __init__(self, history: History):
        self._history = history
        self._seen: set[str] = set(PUBLIC)
        self._statements: set[tuple[int, int]] = set()
        self.pieces: list[tuple[str, Definition | None]] = []
        self.faults: list[Fault] = []
        self.folders: list[str] = []
        self.written = False

    def take(self, name: str, used_at: tuple[str, int]) -> None:
        """Carry ``name`` and whatever it needs; its needs come first."""
        overridden = name in PUBLIC and name in self._history.namespace and self._history.definition(name)
        if name in self._seen and not overridden:
            return
        self._seen.add(name)
        if name not in self._history.namespace:
            known = [n for n in self._history.namespace if not n.startswith("_")]
            self.faults.append(Fault(f"name {name!r} is not defined in this notebook{_near(name, known)}", *used_at))
            return
        value = self._history.namespace[name]
        definition = self._history.definition(name)
        if definition is not None and (carry.is_code(definition) or carry.says(definition.statement, value)):
            self._code(definition, value)
        elif (text := carry.written(value)) is not None:
            # The value that the kernel holds counts, not what its statement would give elsewhere.
            self.pieces.append((f"{name} = {text}", definition))
            self.written = True
        elif definition is not None and carry.is_small(value):
            self._code(definition, value)
        elif definition is None and (line := carry.imported(name, value)) is not None:
            self.pieces.append((line, None))
        else:
            made_in = f"made in {definition.cell.label}, line {definition.lines[0]}" if definition else "which no cell defines"
            self._refuse(name, value, made_in, used_at)

    def _code(self, definition: Definition, value: Any) -> None:
        if (key := (definition.cell.number, definition.lines[0])) in self._statements:
            return
        self._statements.add(key)
        text = definition.text
        first, _ = definition.lines
        for needed in names.free(text):
            line, _ = names.place(text, needed)
            self.take(needed, (definition.cell.label, first + line - 1))
        self.pieces.append((text, definition))
        self._beside_notebook(value)

    def _refuse(self, name: str, value: Any, made_in: str, used_at: tuple[str, int]) -> None:
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        self.faults.append(
            Fault(f"{name!r} is a {kind}, {made_in}; it can't be carried into a task's own process: {carry.way_out(value)}", *used_at)
        )

    def _beside_notebook(self, value: Any) -> None:
        """A module that lies beside the notebook is found there by workers too."""
        module = value if type(value).__name__ == "module" else sys.modules.get(getattr(value, "__module__", None) or "")
        file = getattr(module, "__file__", None)
        here = os.getcwd()
        if file and os.path.dirname(os.path.abspath(file)).startswith(here) and "site-packages" not in file:
            root = os.path.dirname(os.path.abspath(file))
            if root not in self.folders:
                self.folders.append(root)


def _near(name: str, known: list[str]) -> str:
    said = nearest(name, known)
    return said if said.startswith("; did you mean") else "; define it in a cell above, or import it"


def _assembled(dag_id: str, options: DagOptions, cell: Cell, tree: ast.Module, carried: _Carried) -> DagSource:
    lines = [f'"""DAG {dag_id}, from a notebook."""', "", *_folders(carried.folders), _HEADER]
    lines += [carry.WRITTEN_WITH, ""] if carried.written else [""]
    segments: list[Segment] = []
    for text, definition in carried.pieces:
        _append(lines, segments, text, definition)
    opening, closing = _wrapped(dag_id, options, cell, tree)
    lines += ["", *opening]
    body = cell.text.splitlines()
    segments.append(Segment(len(lines) + 1, len(lines) + max(len(body), 1), cell.label, 1))
    # The opening's own line is the magic's: what is wrong with an option is shown there.
    if opening:
        segments.append(Segment(len(lines) - len(opening) + 1, len(lines), cell.label, 1))
    return DagSource("\n".join([*lines, *body, *closing]) + "\n", tuple(segments))


def _folders(folders: list[str]) -> list[str]:
    return ["import sys", *(f"sys.path.insert(0, {f!r})" for f in folders)] if folders else []


def _append(lines: list[str], segments: list[Segment], text: str, definition: Definition | None) -> None:
    piece = text.splitlines()
    if definition is not None:
        first, _ = definition.lines
        segments.append(Segment(len(lines) + 1, len(lines) + len(piece), definition.cell.label, first))
    lines += piece


def _wrapped(dag_id: str, options: DagOptions, cell: Cell, tree: ast.Module) -> tuple[list[str], list[str]]:
    """Lines around the body: bare tasks get their DAG here, a DAG that the cell makes itself is left alone."""
    arguments = options.arguments()
    if _makes_dag(tree):
        if arguments:
            raise InvalidDag(
                [Fault(f"the cell makes its DAG itself, so {', '.join(arguments)} belong there, not on the %%dag line", cell.label, 1)]
            )
        return [], []
    imports = ["import datetime as __datetime__"] if options.start or options.end else []
    words = ", ".join([repr(dag_id), *(f"{k}={_written(v)}" for k, v in arguments.items())])
    return [*imports, f"__dag__ = DAG({words})", "__dag__.__enter__()"], ["__dag__.__exit__(None, None, None)"]


def _written(value: Any) -> str:
    return f"__datetime__.datetime.fromisoformat({value.isoformat()!r})" if isinstance(value, datetime) else repr(value)


def _makes_dag(tree: ast.Module) -> bool:
    """A ``DAG(...)`` call anywhere outside functions, or a function decorated with ``@dag``."""
    for statement in tree.body:
        decorators = getattr(statement, "decorator_list", [])
        if any(_called(d) == "dag" for d in decorators):
            return True
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if any(isinstance(n, ast.Call) and _called(n) == "DAG" for n in ast.walk(statement)):
            return True
    return False


def _called(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
