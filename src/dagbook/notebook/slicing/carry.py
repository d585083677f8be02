"""What of a notebook can live in another process: code, imports and small plain values; not data, not connections."""

from __future__ import annotations

import ast
import functools
import importlib.util
import logging
import math
import re
import types
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from dagbook.authoring.datasets import Dataset
from dagbook.authoring.params import Param
from dagbook.authoring.taskflow import TaskFunction
from dagbook.notebook.slicing.cells import Definition

_PLAIN = (str, bytes, int, float, bool, type(None))
_SMALL_OBJECTS = (
    date,
    datetime,
    time,
    timedelta,
    Decimal,
    PurePath,
    UUID,
    ZoneInfo,
    re.Pattern,
    logging.Logger,
    Dataset,
    Param,
    TaskFunction,
    functools.partial,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    type,
    range,
)
#: Characters of a value's own text: more than that is data, not a constant.
LARGEST = 10_000


def is_code(definition: Definition) -> bool:
    """Functions, classes and imports are carried by their text, whatever they are now."""
    return isinstance(definition.statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)


def is_small(value: Any) -> bool:
    """A constant: plain values and containers of them, within ``LARGEST`` characters."""
    return _is_made_of(value, (*_PLAIN, *_SMALL_OBJECTS)) and len(repr(value)) <= LARGEST


def says(statement: ast.stmt, value: Any) -> bool:
    """An assignment to names that says ``value`` in so many words."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    try:
        return all(isinstance(t, ast.Name) for t in targets) and bool(ast.literal_eval(statement.value) == value)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return False


def written(value: Any) -> str | None:
    """Python text that gives ``value`` anywhere, whatever it was computed from; it may use ``WRITTEN_WITH``."""
    try:
        text = _written(value)
    except (TypeError, RecursionError):
        return None
    return text if len(text) <= LARGEST else None


#: What ``written`` text needs in front of it.
WRITTEN_WITH = "import datetime as _datetime, decimal as _decimal, pathlib as _pathlib, uuid as _uuid"


def _written(value: Any) -> str:
    kind = type(value)
    if kind in _PLAIN and (kind is not float or math.isfinite(value)):
        return repr(value)
    if kind in (list, tuple, set, frozenset):
        inner = "[" + ", ".join(_written(v) for v in value) + "]"
        return inner if kind is list else f"{kind.__name__}({inner})"
    if kind is dict:
        return "{" + ", ".join(f"{_written(k)}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, PurePath):
        return f"_pathlib.Path({str(value)!r})"
    if kind is datetime and (value.tzinfo is None or value.tzinfo is UTC):
        return f"_datetime.datetime.fromisoformat({value.isoformat()!r})"
    if kind in (date, timedelta):
        return "_" + repr(value)
    if kind is Decimal:
        return f"_decimal.{value!r}"
    if kind is UUID:
        return f"_uuid.{value!r}"
    raise TypeError(kind)


def _is_made_of(value: Any, kinds: tuple[type, ...], depth: int = 0) -> bool:
    if isinstance(value, kinds):
        return True
    if depth > 20:
        return False
    if type(value) in (list, tuple, set, frozenset):
        return len(value) <= LARGEST and all(_is_made_of(v, kinds, depth + 1) for v in value)
    if type(value) is dict:
        parts: Iterable[Any] = (*value.keys(), *value.values())
        return len(value) <= LARGEST and all(_is_made_of(v, kinds, depth + 1) for v in parts)
    return False


def imported(name: str, value: Any) -> str | None:
    """The import that gives ``value`` the name ``name``, for what came by ``import *`` or by a magic."""
    if isinstance(value, types.ModuleType):
        return f"import {value.__name__} as {name}"
    module, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not module or module == "__main__" or "." in qualified or not qualified:
        return None
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return f"from {module} import {qualified} as {name}" if found else None


def way_out(value: Any) -> str:
    """What to do instead of carrying ``value``."""
    kind = type(value).__name__
    if kind in ("DataFrame", "Series", "ndarray", "Table") or hasattr(value, "shape"):
        return "load it inside a task, or make it the result of one"
    if any(word in kind.lower() for word in ("connection", "session", "client", "engine", "cursor", "socket", "io", "lock")):
        return "open it inside the task that uses it"
    return "make it inside a task, or pass what it is made of as a param"
