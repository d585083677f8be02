"""Run parameters, as authors write them."""

from __future__ import annotations

from typing import Any


class Param:
    """A run parameter: its default, a sentence for people, and JSON-schema keywords."""

    def __init__(self, default: Any = None, *, description: str | None = None, **schema: Any):
        self.default, self.description, self.schema = default, description, schema
