"""Datasets, who waits for them, and what started which run."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Index, Integer, Table, Text, text
from sqlalchemy.dialects.postgresql import JSONB

from dagbook.store.tables.base import metadata, now
from dagbook.store.tables.runs import dag, dag_run

dataset = Table("dataset", metadata, Column("uri", Text, primary_key=True), now())

dataset_event = Table(
    "dataset_event",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("uri", Text, nullable=False),
    Column("source_run", BigInteger),
    Column("source_task_id", Text),
    Column("source_map_index", Integer),
    Column("extra", JSONB, nullable=False, server_default=text("'{}'")),
    Column("alias", Text),
    now(),
    Index("events_of_dataset", "uri", text("created_at DESC")),
)

# What each DAG's schedule asks for: URIs, and aliases with a mark before.
dataset_consumer = Table(
    "dataset_consumer",
    metadata,
    Column("name", Text, primary_key=True),
    Column("dag_id", Text, ForeignKey(dag.c.dag_id, ondelete="CASCADE"), primary_key=True),
    Index("datasets_of_dag", "dag_id"),
)

# Events that a DAG has not used yet.
dataset_pending = Table(
    "dataset_pending",
    metadata,
    Column("dag_id", Text, ForeignKey(dag.c.dag_id, ondelete="CASCADE"), primary_key=True),
    Column("event", BigInteger, ForeignKey(dataset_event.c.id, ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
)

# The events that started a run.
run_event = Table(
    "run_event",
    metadata,
    Column("run", BigInteger, ForeignKey(dag_run.c.id, ondelete="CASCADE"), primary_key=True),
    Column("event", BigInteger, ForeignKey(dataset_event.c.id, ondelete="CASCADE"), primary_key=True),
)
