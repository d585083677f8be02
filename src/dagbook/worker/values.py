"""A value on its way to the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagbook.artifacts import codecs
from dagbook.wire.tasks import Value


def encoded(value: Any, lengths: Mapping[str, int] | None = None) -> Value:
    """``NotCarried`` says what can't be carried, and the way out."""
    codec, data, length = codecs.encode(value)
    return Value(codec, data, length, codecs.preview(value), dict(lengths or {}))
