"""A real PostgreSQL for the tests of SQL, one for each test process."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from dagbook.services.opening import open_store
from dagbook.settings import Settings


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    found = open_store(Settings(home=tmp_path_factory.mktemp("store")))
    yield found
    found.close()


@pytest.fixture
def store(opened):
    """An empty database."""
    with opened.store.begin() as work:
        tables = work.conn.execute(
            text("SELECT tablename FROM pg_tables WHERE schemaname = 'dagbook' AND tablename NOT IN ('alembic_version', 'pool')")
        )
        names = ", ".join(f"dagbook.{t}" for t in tables.scalars())
        work.conn.execute(text(f"TRUNCATE {names} RESTART IDENTITY CASCADE"))
    return opened.store
