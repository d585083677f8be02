"""Bring the database's schema to this Dagbook's version, or say how it differs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import ArgumentError, InterfaceError, OperationalError

from dagbook.errors import Conflict, DatabaseUnavailable, Invalid
from dagbook.store.tables import SCHEMA, metadata

_LOCK = 7_301_118


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


@contextmanager
def _engine(url: str, **connect_args: Any) -> Iterator[Engine]:
    """An engine for one errand.  ``DatabaseUnavailable`` when nothing answers, ``Invalid`` for a URL that is none."""
    try:
        engine = create_engine(url, connect_args={"connect_timeout": 5} | connect_args)
    except (ArgumentError, ModuleNotFoundError, ValueError):  # neither says the URL: it holds a password
        raise Invalid("DAGBOOK_DATABASE_URL must look like postgresql+psycopg://user:password@host:5432/database") from None
    try:
        yield engine
    except (OperationalError, InterfaceError) as e:
        raise DatabaseUnavailable(f"the metadata database does not answer: {str(e.orig).strip().splitlines()[0]}") from e
    finally:
        engine.dispose()


def upgrade(url: str) -> str:
    """Run what is missing, one process at a time; the revision reached.  A newer schema is a ``Conflict``."""
    config = _config()
    with _engine(url) as engine:
        with engine.begin() as conn:
            conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            conn.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
            _known(MigrationContext.configure(conn, opts={"version_table_schema": SCHEMA}).get_current_revision())
            config.attributes["connection"] = conn
            command.upgrade(config, "head")
        with engine.connect() as conn:
            return str(MigrationContext.configure(conn, opts={"version_table_schema": SCHEMA}).get_current_revision())


def missing(url: str) -> str | None:
    """What has to be run before this Dagbook can work with the database, in words; ``None`` when it fits."""
    with _engine(url) as engine, engine.connect() as conn:
        current = MigrationContext.configure(conn, opts={"version_table_schema": SCHEMA}).get_current_revision()
    _known(current)
    head = ScriptDirectory.from_config(_config()).get_current_head()
    return None if current == head else f"its schema is at {current or 'nothing'}, this Dagbook needs {head}"


def _known(revision: str | None) -> None:
    known = {s.revision for s in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision is not None and revision not in known:
        raise Conflict(f"the database's schema {revision!r} is newer than this Dagbook knows; upgrade dagbook")


def check(url: str) -> list[str]:
    """How the database differs from what this Dagbook expects; empty when it fits."""
    # A role named like the schema has it as its default one, and reflection then leaves its name out.
    with _engine(url, options="-c search_path=public") as engine, engine.connect() as conn:
        context = MigrationContext.configure(
            conn,
            opts={
                "version_table_schema": SCHEMA,
                "include_schemas": True,
                "include_name": lambda name, kind, _parents: kind != "schema" or name == SCHEMA,
                "compare_server_default": False,
            },
        )
        return [str(d) for d in compare_metadata(context, metadata)]
