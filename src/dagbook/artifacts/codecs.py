"""XCom values to bytes and back: JSON with typed values, Arrow for tables and arrays; never pickle."""

from __future__ import annotations

import base64
import io
import json
import math
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from dagbook.errors import DagbookError

#: The key that marks a typed value inside JSON; a user's dict with it is wrapped as pairs.
_TYPE = "$type"


class NotCarried(DagbookError):
    """A value of this type can't be carried to another task."""

    code = "not_carried"


def encode(value: Any) -> tuple[str, bytes, int | None]:
    """(codec, bytes, length or ``None``); ``NotCarried`` names the type, the place in the value, and the way out."""
    if _is("pandas", "DataFrame", value):
        return "arrow", _frame_bytes(value), len(value)
    if _is("polars", "DataFrame", value):
        return "arrow-polars", _table_bytes(value.to_arrow()), len(value)
    if _is("pyarrow", "Table", value):
        return "arrow-table", _table_bytes(value), len(value)
    if _is("pandas", "Series", value):
        return "arrow-series", _frame_bytes(value.to_frame()), len(value)
    if _is("numpy", "ndarray", value) and not value.dtype.hasobject:
        return "npy", _array_bytes(value), len(value) if value.ndim else None
    plain = _plain(value, "the value")
    return "json", _json(plain), len(value) if isinstance(value, list | tuple | dict) else None


def decode(codec: str, data: bytes) -> Any:
    match codec:
        case "json":
            return _typed(json.loads(data))
        case "arrow":
            return _read_table(data).to_pandas()
        case "arrow-series":
            return _read_table(data).to_pandas().iloc[:, 0]
        case "arrow-table":
            return _read_table(data)
        case "arrow-polars":
            import polars  # type: ignore[import-not-found,unused-ignore]

            return polars.from_arrow(_read_table(data))
        case "npy":
            import numpy

            return numpy.load(io.BytesIO(data), allow_pickle=False)
        case _:
            raise NotCarried(f"codec {codec!r} is not known to this Dagbook")


def _json(plain: Any) -> bytes:
    """Always valid UTF-8: a lone surrogate is written as an escape."""
    try:
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(plain, separators=(",", ":")).encode()


def preview(value: Any) -> dict[str, Any]:
    """A few words for people: type, shape, first rows or a short text."""
    name = type(value).__name__
    if _is("pandas", "DataFrame", value):
        head = json.loads(value.head(5).to_json(orient="split", date_format="iso", default_handler=str))
        return {"type": name, "shape": list(value.shape), "columns": [str(c) for c in value.columns], "rows": head["data"]}
    if hasattr(value, "shape"):
        return {"type": name, "shape": list(value.shape)}
    text = repr(value)
    return {"type": name, "text": text if len(text) <= 300 else text[:300] + "…"}


def _is(module: str, name: str, value: Any) -> bool:
    """Without importing ``module``: a value of it can't exist before somebody did."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(value, kind)


def _frame_bytes(frame: Any) -> bytes:
    import pyarrow

    try:
        return _table_bytes(pyarrow.Table.from_pandas(frame))
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError) as e:
        raise NotCarried(f"the DataFrame has a column that Arrow can't carry: {e}; convert it, for example with .astype(str)") from e


def _table_bytes(table: Any) -> bytes:
    import pyarrow

    sink = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _read_table(data: bytes) -> Any:
    import pyarrow

    with pyarrow.ipc.open_stream(data) as reader:
        return reader.read_all()


def _array_bytes(array: Any) -> bytes:
    import numpy

    out = io.BytesIO()
    numpy.save(out, array, allow_pickle=False)
    return out.getvalue()


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_TYPE: "float", "v": repr(float(value))}
    if isinstance(value, list):
        return [_plain(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if isinstance(value, dict):
        if all(isinstance(k, str) for k in value) and _TYPE not in value:
            return {str(k): _plain(v, f"{where}[{k!r}]") for k, v in value.items()}
        pairs = [[_plain(k, f"a key of {where}"), _plain(v, f"{where}[{k!r}]")] for k, v in value.items()]
        return {_TYPE: "dict", "v": pairs}
    if isinstance(value, tuple | set | frozenset):
        kind = "tuple" if isinstance(value, tuple) else type(value).__name__
        return {_TYPE: kind, "v": [_plain(v, f"an element of {where}") for v in value]}
    for kind, (cls, write, _) in _SCALARS.items():
        if isinstance(value, cls):
            return {_TYPE: kind, "v": write(value)}
    if _is("numpy", "generic", value):
        return _plain(value.item(), where)
    if _is("pandas", "DataFrame", value) or _is("numpy", "ndarray", value):
        codec, data, _length = encode(value)
        return {_TYPE: "nested", "codec": codec, "v": base64.b64encode(data).decode()}
    raise NotCarried(
        f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which can't be carried to another task; "
        "return plain data (numbers, text, lists, dicts, dates, DataFrames, arrays), or write it to a file and "
        "return the path"
    )


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return [_typed(v) for v in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_TYPE)
    if kind is None:
        return {k: _typed(v) for k, v in value.items()}
    inner = value["v"]
    if kind == "dict":
        return {_typed(k): _typed(v) for k, v in inner}
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](_typed(v) for v in inner)
    if kind == "float":
        return float(inner)
    if kind == "nested":
        return decode(value["codec"], base64.b64decode(inner))
    return _SCALARS[kind][2](inner)


# datetime before date: it is a subclass of it.
_SCALARS: dict[str, tuple[type, Any, Any]] = {
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (
        timedelta,
        lambda d: [d.days, d.seconds, d.microseconds],
        lambda v: timedelta(v[0], v[1], v[2]),
    ),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    "bytes": (bytes, lambda b: base64.b64encode(b).decode(), base64.b64decode),
    "path": (PurePath, str, lambda s: __import__("pathlib").Path(s)),
}
