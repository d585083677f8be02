"""TypeScript types of the REST API's shapes, from ``dagbook.wire.rest``: ``labextension/src/wire.ts``; ``--check`` compares."""

from __future__ import annotations

import dataclasses
import enum
import sys
import types
import typing
from datetime import date, datetime
from pathlib import Path

import msgspec

from dagbook.states import RunState, RunType, TaskState
from dagbook.wire import rest

TARGET = Path(__file__).parent.parent / "labextension/src/wire.ts"
_PLAIN = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    datetime: "string",
    date: "string",
    bytes: "string",
    type(None): "null",
    typing.Any: "unknown",
}


def text() -> str:
    shapes = [v for v in vars(rest).values() if _is_shape(v)]
    parts = [f"// Made by tools/wire_types.py from dagbook.wire.rest; do not edit.\n{_enums()}", *(_shape(s) for s in shapes)]
    return "\n".join(parts) + "\nexport type Event = RunEvent | DagsEvent | ProblemEvent;\n"


def _is_shape(value: object) -> bool:
    if not isinstance(value, type) or value is msgspec.Struct:
        return False
    return issubclass(value, msgspec.Struct) or dataclasses.is_dataclass(value)


def _enums() -> str:
    lines = [f"export type {e.__name__} = {' | '.join(repr(str(m)) for m in e)};" for e in (TaskState, RunState, RunType)]
    extra = "export interface Segment {\n  start: number;\n  end: number;\n  origin: string;\n  origin_line: number;\n}\n"
    return "\n".join(lines) + "\n\n" + extra


def _shape(shape: type) -> str:
    hints = typing.get_type_hints(shape)
    tag = getattr(getattr(shape, "__struct_config__", None), "tag", None)
    lines = [f"  type: {tag!r};"] if tag else []
    lines += [f"  {name}: {_type(kind)};" for name, kind in hints.items() if not name.startswith("_")]
    return f"export interface {shape.__name__} {{\n" + "\n".join(lines) + "\n}\n"


def _type(kind: object) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (list, tuple):
        inner = _type(args[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is typing.Literal:
        return " | ".join(repr(a) for a in args)
    if origin is dict:
        return f"Record<string, {_type(args[1])}>"
    if origin in (types.UnionType, typing.Union):
        return " | ".join(_type(a) for a in args)
    if isinstance(kind, type) and (issubclass(kind, enum.Enum) or _is_shape(kind) or kind.__name__ == "Segment"):
        return kind.__name__
    raise TypeError(f"no TypeScript for {kind}")


if __name__ == "__main__":
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text() != text():
            sys.exit(f"{TARGET} is not current; run: python tools/wire_types.py")
    else:
        TARGET.write_text(text())
