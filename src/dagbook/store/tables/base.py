"""What all tables are made with."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, MetaData, func

SCHEMA = "dagbook"
metadata = MetaData(schema=SCHEMA)
Time = DateTime(timezone=True)


def now(name: str = "created_at") -> Column[object]:
    return Column(name, Time, nullable=False, server_default=func.now())


def one_of(column: str, words: object) -> str:
    return f"{column} IN ({', '.join(repr(str(w)) for w in words)})"  # type: ignore[attr-defined]
