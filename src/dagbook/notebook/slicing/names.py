"""Which names a piece of code takes from outside, and which it makes."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

_BUILTIN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__"}


def free(code: str) -> list[str]:
    """Names that ``code`` uses and neither makes nor has from Python, in order of first use."""
    table = symtable.symtable(code, "<cell>", "exec")
    made = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    used = {name for scope in _scopes(table) for name in _from_outside(scope)}
    wanted = used - made - _BUILTIN
    return sorted(wanted, key=lambda name: place(code, name))


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _from_outside(scope: symtable.SymbolTable) -> Iterator[str]:
    for symbol in scope.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or scope.get_type() == "module"):
            yield symbol.get_name()


def place(code: str, name: str) -> tuple[int, int]:
    """(line, column) of the first use of ``name``."""
    uses = [(node.lineno, node.col_offset) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and node.id == name]
    return min(uses, default=(1, 0))


def made(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds, whatever it is nested in."""
    found: set[str] = set()
    _collect(statement, found)
    return found


def _collect(node: ast.AST, found: set[str]) -> None:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found.add(name)
            return
        case ast.Import(names=names):
            found |= {a.asname or a.name.split(".", 1)[0] for a in names}
        case ast.ImportFrom(names=names):
            found |= {a.asname or a.name for a in names}
        case ast.Name(id=name, ctx=ast.Store()):
            found.add(name)
        case ast.ExceptHandler(name=str(name)):
            found.add(name)
        case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return
    for child in ast.iter_child_nodes(node):
        _collect(child, found)
