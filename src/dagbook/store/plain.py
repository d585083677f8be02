"""Text and JSON as PostgreSQL can keep them: it has no NUL, no lone surrogates, no NaN."""

from __future__ import annotations

import json
import math
from typing import Any


def text(value: str | None, limit: int = 20_000) -> str | None:
    """``value`` with what can't be stored shown as escapes, and cut at ``limit`` characters."""
    if value is None:
        return None
    kept = value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return kept if len(kept) <= limit else kept[:limit] + " …"


def document(value: Any) -> str:
    """JSON text of ``value`` for a ``jsonb`` column."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {text(str(k)): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value
