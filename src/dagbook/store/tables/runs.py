"""DAGs, their versions, runs, tasks, results and what is owed to them."""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from dagbook.states import MOVES, RunState
from dagbook.store.tables.base import Time, metadata, now, one_of

dag = Table(
    "dag",
    metadata,
    Column("dag_id", Text, primary_key=True),
    Column("is_paused", Boolean, nullable=False, server_default=text("false")),
    Column("is_active", Boolean, nullable=False, server_default=text("true")),
    # A notebook's DAG: runs by hand or backfill, never by schedule.
    Column("is_draft", Boolean, nullable=False),
    Column("author", Text, nullable=False, server_default=""),
    Column("fileloc", Text),
    Column("version", Text, nullable=False),
    Column("schedule", Text),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
    Column("description", Text),
    Column("max_active_runs", Integer, nullable=False),
    Column("max_active_tasks", Integer, nullable=False),
    # The next scheduled run's interval; it is due at next_run_at.
    Column("next_start", Time),
    Column("next_end", Time),
    Column("next_run_at", Time),
    Column("schedule_error", Text),
    # Of a DAG with a timetable of its own: what that has said comes next and when it said so, and when to ask it again.
    Column("upcoming", JSONB),
    Column("upcoming_at", Time),
    Column("ask_timetable_at", Time),
    Column("updated_at", Time, nullable=False, server_default=func.now()),
    Index("dag_ask_timetable", "ask_timetable_at", postgresql_where=text("ask_timetable_at IS NOT NULL AND is_active AND NOT is_draft")),
    Index("dag_next_run", "next_run_at", postgresql_where=text("next_run_at IS NOT NULL AND NOT is_paused AND is_active")),
)

dag_version = Table(
    "dag_version",
    metadata,
    Column("version", Text, primary_key=True),
    Column("dag_id", Text, ForeignKey(dag.c.dag_id, ondelete="CASCADE", deferrable=True, initially="DEFERRED"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("spec", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("segments", JSONB, nullable=False),
    Column("path", Text),
    now(),
    UniqueConstraint("dag_id", "number"),
)

backfill = Table(
    "backfill",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, ForeignKey(dag.c.dag_id, ondelete="CASCADE"), nullable=False),
    Column("from_date", Time, nullable=False),
    Column("to_date", Time, nullable=False),
    Column("max_active_runs", Integer, CheckConstraint("max_active_runs >= 1"), nullable=False),
    Column("reprocess", Text, CheckConstraint("reprocess IN ('none', 'failed', 'completed')"), nullable=False),
    Column("run_backwards", Boolean, nullable=False),
    Column("is_paused", Boolean, nullable=False, server_default=text("false")),
    Column("is_cancelled", Boolean, nullable=False, server_default=text("false")),
    Column("conf", JSONB, nullable=False),
    Column("total", Integer, nullable=False),
    now(),
    Column("completed_at", Time),
    Index("backfill_of_dag", "dag_id", "id"),
)

dag_run = Table(
    "dag_run",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("dag_id", Text, ForeignKey(dag.c.dag_id, ondelete="CASCADE"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("version", Text, ForeignKey(dag_version.c.version), nullable=False),
    Column("state", Text, CheckConstraint(one_of("state", RunState)), nullable=False),
    Column("run_type", Text, nullable=False),
    Column("logical_date", Time, nullable=False),
    Column("data_interval_start", Time, nullable=False),
    Column("data_interval_end", Time, nullable=False),
    Column("conf", JSONB, nullable=False, server_default=text("'{}'")),
    Column("params", JSONB, nullable=False, server_default=text("'{}'")),
    Column("backfill_id", BigInteger, ForeignKey(backfill.c.id, ondelete="SET NULL")),
    # Order among the runs of a backfill; runs that wait go in this order.
    Column("sort_key", BigInteger, nullable=False, server_default="0"),
    Column("reason", Text),
    # When dagrun_timeout ends it.
    Column("timeout_at", Time),
    # Nothing of it can go on before the run before it does: it holds no place among the active runs.
    Column("is_stalled", Boolean, nullable=False, server_default=text("false")),
    # Deadlines that have passed unmet: task ids, "" for the run's own.
    Column("missed", ARRAY(Text), nullable=False, server_default="{}"),
    now("queued_at"),
    Column("start_date", Time),
    Column("end_date", Time),
    CheckConstraint("(end_date IS NULL) = (state IN ('queued', 'running'))", name="ended_when_finished"),
    UniqueConstraint("dag_id", "run_id"),
    Index(
        "one_scheduled_run_per_date", "dag_id", "logical_date", unique=True, postgresql_where=text("run_type IN ('scheduled', 'backfill')")
    ),
    Index("newest_runs_of_dag", "dag_id", text("logical_date DESC"), text("id DESC")),
    Index("runs_to_start", "dag_id", "sort_key", "logical_date", "id", postgresql_where=text("state = 'queued'")),
    Index("runs_going_on", "dag_id", postgresql_where=text("state = 'running'")),
    Index("runs_of_backfill", "backfill_id", postgresql_where=text("backfill_id IS NOT NULL")),
)

# Runs that wait for the scheduler's judgement.  Only ever appended to and consumed, so that a report never waits
# for a row that a scheduler holds.
run_due = Table(
    "run_due",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("run", BigInteger, nullable=False),
    now("at"),
    Index("runs_due", "at"),
    Index("due_of_run", "run"),
)

pool = Table(
    "pool",
    metadata,
    Column("name", Text, primary_key=True),
    Column("slots", Integer, CheckConstraint("slots >= 0"), nullable=False),
    Column("description", Text),
    Column("include_deferred", Boolean, nullable=False, server_default=text("false")),
)

job = Table(
    "job",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("kind", Text, nullable=False),
    Column("hostname", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    # The kernel's start time of the process: a reused pid is another process.
    Column("pid_started", BigInteger, nullable=False),
    Column("state", Text, CheckConstraint("state IN ('running', 'ended', 'dead')"), nullable=False),
    now("started_at"),
    now("heartbeat_at"),
    Column("ended_at", Time),
    Index("jobs_alive", "kind", "heartbeat_at", postgresql_where=text("state = 'running'")),
)

trigger = Table(
    "trigger",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("classpath", Text, nullable=False),
    Column("kwargs", JSONB, nullable=False),
    Column("run", BigInteger, nullable=False),
    Column("task_id", Text, nullable=False),
    Column("map_index", Integer, nullable=False),
    Column("try_number", Integer, nullable=False),
    Column("timeout_at", Time),
    Column("job_id", BigInteger),
    now(),
    Index("triggers_to_claim", "job_id", "id"),
)

task_instance = Table(
    "task_instance",
    metadata,
    Column("run", BigInteger, ForeignKey(dag_run.c.id, ondelete="CASCADE"), primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("map_index", Integer, primary_key=True, server_default="-1"),
    Column("dag_id", Text, nullable=False),
    Column("logical_date", Time, nullable=False),
    Column("state", Text, CheckConstraint(one_of("state", MOVES)), nullable=False, server_default="none"),
    Column("try_number", Integer, nullable=False, server_default="0"),
    Column("max_tries", Integer, nullable=False, server_default="1"),
    # Tries lost by the engine's own fault; they don't count against the retries.
    Column("lost_count", Integer, nullable=False, server_default="0"),
    Column("operator", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("pool_slots", Integer, CheckConstraint("pool_slots >= 1"), nullable=False),
    Column("priority_weight", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("label", Text),
    Column("reason", Text),
    Column("not_before", Time),
    Column("queued_at", Time),
    Column("start_date", Time),
    Column("end_date", Time),
    Column("hostname", Text),
    Column("pid", Integer),
    Column("job_id", BigInteger),
    Column("next_method", Text),
    Column("next_event", JSONB),
    # Of a branch that has succeeded: the tasks that it did not choose.
    Column("untaken", ARRAY(Text)),
    # max_active_tis_per_dag, max_active_tis_per_dagrun.
    Column("most_per_dag", Integer),
    Column("most_per_run", Integer),
    # The kinds of callbacks that the author gave.
    Column("callbacks", ARRAY(Text)),
    CheckConstraint("state NOT IN ('up_for_retry', 'up_for_reschedule') OR not_before IS NOT NULL", name="waits_until"),
    Index(
        "instances_to_queue",
        "pool",
        text("priority_weight DESC"),
        "logical_date",
        "run",
        "task_id",
        "map_index",
        postgresql_where=text("state = 'scheduled'"),
    ),
    Index(
        "instances_occupying",
        "pool",
        "dag_id",
        "task_id",
        postgresql_include=["pool_slots"],
        postgresql_where=text("state IN ('queued', 'running')"),
    ),
    Index(
        "instances_limited",
        "dag_id",
        "task_id",
        "run",
        postgresql_where=text("state IN ('queued', 'running', 'deferred') AND (most_per_dag IS NOT NULL OR most_per_run IS NOT NULL)"),
    ),
    Index("instances_deferred", "pool", "dag_id", postgresql_include=["pool_slots"], postgresql_where=text("state = 'deferred'")),
    Index("instances_of_job", "job_id", postgresql_where=text("state IN ('queued', 'running')")),
    postgresql_with={"fillfactor": "80"},
)

task_instance_history = Table(
    "task_instance_history",
    metadata,
    Column("run", BigInteger, primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("map_index", Integer, primary_key=True),
    Column("try_number", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("queued_at", Time),
    Column("start_date", Time),
    Column("end_date", Time),
    Column("hostname", Text),
    Column("pid", Integer),
    ForeignKeyConstraint(["run"], [dag_run.c.id], ondelete="CASCADE"),
)

xcom = Table(
    "xcom",
    metadata,
    Column("run", BigInteger, ForeignKey(dag_run.c.id, ondelete="CASCADE"), primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("map_index", Integer, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("codec", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
    Column("length", Integer),
    # Of parts of it that are mapped over: JSON path → length.
    Column("lengths", JSONB),
    Column("preview", JSONB, nullable=False),
    now(),
)

# Calls of the author's functions that are owed; made in a process of their own.
callback = Table(
    "callback",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("run", BigInteger, ForeignKey(dag_run.c.id, ondelete="CASCADE"), nullable=False),
    # "" and -1: the DAG's own.
    Column("task_id", Text, nullable=False),
    Column("map_index", Integer, nullable=False),
    Column("try_number", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    Column("reason", Text),
    Column(
        "state",
        Text,
        CheckConstraint("state IN ('waiting', 'queued', 'running', 'done', 'failed')"),
        nullable=False,
        server_default="waiting",
    ),
    Column("lost_count", Integer, nullable=False, server_default="0"),
    Column("job_id", BigInteger),
    Column("error", Text),
    now(),
    Column("ended_at", Time),
    Index("callbacks_waiting", "id", postgresql_where=text("state = 'waiting'")),
    Index("callbacks_of_job", "job_id", postgresql_where=text("state IN ('queued', 'running')")),
    Index("callbacks_of_run", "run", "task_id"),
)
