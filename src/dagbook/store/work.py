"""The unit of work: one transaction, committed here and nowhere else, with its notifications."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError

from dagbook.errors import DatabaseUnavailable, Invalid

#: The scheduler listens on one, the API on the other.
DUE_CHANNEL = "dagbook_due"
EVENTS_CHANNEL = "dagbook_events"
#: The triggerer's: a task was deferred.
TRIGGERS_CHANNEL = "dagbook_triggers"

NOTIFY = text("SELECT pg_notify(:channel, :payload)")


class Work:
    """An open transaction.  ``changed`` and ``due`` collect what to announce when it commits."""

    def __init__(self, conn: Connection):
        self.conn = conn
        self._due = False
        self._deferred = False
        self._runs: set[int] = set()
        self._dags: set[str] = set()

    def due(self) -> None:
        """A scheduler has something to look at."""
        self._due = True

    def deferred(self) -> None:
        """A triggerer has something to wait for."""
        self._deferred = True

    def run_changed(self, run: int) -> None:
        self._runs.add(run)

    def dag_changed(self, dag_id: str) -> None:
        self._dags.add(dag_id)

    def announce(self) -> None:
        if self._due:
            self.conn.execute(NOTIFY, {"channel": DUE_CHANNEL, "payload": ""})
        if self._deferred:
            self.conn.execute(NOTIFY, {"channel": TRIGGERS_CHANNEL, "payload": ""})
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
            url,
            pool_size=pool_size,
            max_overflow=2,
            pool_pre_ping=False,
            pool_recycle=1800,
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
            if e.connection_invalidated or _passes(e):
                raise DatabaseUnavailable(f"the metadata database does not answer: {_first_line(e)}") from e
            raise
        except DataError as e:
            raise Invalid(f"the database can't keep a value: {_first_line(e)}") from e

    def close(self) -> None:
        self.engine.dispose()


#: SQLSTATE classes of faults that pass: connections, shutdown and start, deadlocks, time-outs, no memory or place.
_PASSING = ("08", "57", "40", "55P03", "53")


def _passes(error: DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    return state is None or state.startswith(_PASSING)


def _first_line(error: DBAPIError) -> str:
    return (str(error.orig).strip().splitlines() or ["no answer"])[0]
