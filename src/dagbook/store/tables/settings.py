"""DAG files, connections, variables, and who did what."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Identity, Index, Integer, LargeBinary, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from dagbook.store.tables.base import Time, metadata, now

dag_file = Table(
    "dag_file",
    metadata,
    Column("path", Text, primary_key=True),
    Column("mtime", Double, nullable=False),
    Column("digest", Text, nullable=False),
    Column("duration", Double, nullable=False),
    Column("parsed_at", Time, nullable=False),
    Column("error", Text),
    Column("error_line", Integer),
)

connection = Table(
    "connection",
    metadata,
    Column("conn_id", Text, primary_key=True),
    Column("conn_type", Text, nullable=False),
    Column("host", Text),
    Column("schema", Text),
    Column("login", Text),
    Column("password", LargeBinary),
    Column("port", Integer),
    Column("extra", LargeBinary),
    Column("description", Text),
)

variable = Table(
    "variable",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("description", Text),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    now("at"),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("dag_id", Text),
    Column("run_id", Text),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'")),
    Index("audit_of_dag", "dag_id", text("at DESC")),
)
