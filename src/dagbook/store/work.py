"""The unit of work: one transaction, committed here and nowhere else, with its notifications."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from dagbook.errors import DatabaseUnavailable

#: The scheduler listens on one, the API on the other.
DUE_CHANNEL = "dagbook_due"
EVENTS_CHANNEL = "dagbook_events"

NOTIFY = text("SELECT pg_notify(:channel, :payload)")


class Work:
    """An open transaction.  ``changed`` and ``due`` collect what to announce when it commits."""

    def __init__(self, conn: Connection):
        self.conn = conn
        self._due = False
        self._runs: set[int] = set()
        self._dags: set[str] = set()

    def due(self) -> None:
        """A scheduler has something to look at."""
        self._due = True

    def run_changed(self, run: int) -> None:
        self._runs.add(run)

    def dag_changed(self, dag_id: str) -> None:
        self._dags.add(dag_id)

    def announce(self) -> None:
        if self._due:
            self.conn.execute(NOTIFY, {"channel": DUE_CHANNEL, "payload": ""})
        if self._runs or self._dags:
            # Payloads are limited to 8,000 bytes; beyond that "everything" is said by an empty list.
            body = {"runs": sorted(self._runs)[:300], "dags": sorted(self._dags)[:10]}
            payload = msgspec.json.encode(body).decode()
            self.conn.execute(NOTIFY, {"channel": EVENTS_CHANNEL, "payload": payload if len(payload) < 7900 else "{}"})


class Store:
    """A small pool of connections and the transactions over them."""

    def __init__(self, url: str, pool_size: int = 4):
        self.url = url
        self.engine: Engine = create_engine(
            url, pool_size=pool_size, max_overflow=2, pool_pre_ping=False, pool_recycle=1800,
            connect_args={
                "connect_timeout": 5,
                "options": "-c search_path=dagbook,public -c statement_timeout=60000 -c lock_timeout=10000 "
                "-c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
                "application_name": "dagbook",
            },
        )

    @contextmanager
    def begin(self) -> Iterator[Work]:
        """``DatabaseUnavailable`` when the connection can't be had or breaks; then nothing was kept."""
        try:
            with self.engine.begin() as conn:
                work = Work(conn)
                yield work
                work.announce()
        except (OperationalError, InterfaceError) as e:
            if e.connection_invalidated or _is_connection_fault(e):
                raise DatabaseUnavailable(f"the metadata database does not answer: {_first_line(e)}") from e
            raise

    def close(self) -> None:
        self.engine.dispose()


def _is_connection_fault(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(("08", "57P"))


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or ["no answer"])[0]
