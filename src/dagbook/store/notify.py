"""LISTEN on a connection of its own; a wait that ends on news, on a local nudge, or in time."""

from __future__ import annotations

import contextlib
import select
import socket

import psycopg
from sqlalchemy import make_url


def libpq(url: str) -> str:
    """The psycopg form of a SQLAlchemy URL."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


class Listener:
    """Not for sharing between threads, except ``nudge``."""

    def __init__(self, url: str, channel: str):
        self._url, self._channel = libpq(url), channel
        self._conn: psycopg.Connection[tuple[object, ...]] | None = None
        self._nudged, self._nudger = socket.socketpair()
        self._nudged.setblocking(False)
        self._nudger.setblocking(False)

    def nudge(self) -> None:
        """End the wait that is on, or the next one."""
        with contextlib.suppress(BlockingIOError):
            self._nudger.send(b"x")

    def wait(self, timeout: float) -> list[str]:
        """Payloads heard; empty when only the time or a nudge ended it.  A lost connection is taken up again."""
        conn = self._connected()
        if conn is None:
            select.select([self._nudged], [], [], min(timeout, 1.0))
            self._drain()
            return []
        heard = self._pending(conn)
        if heard:
            return heard
        select.select([conn.fileno(), self._nudged.fileno()], [], [], max(timeout, 0))
        self._drain()
        return self._pending(conn)

    def _pending(self, conn: psycopg.Connection[tuple[object, ...]]) -> list[str]:
        try:
            return [n.payload for n in conn.notifies(timeout=0)]
        except psycopg.Error:
            self._conn = None
            return []

    def _connected(self) -> psycopg.Connection[tuple[object, ...]] | None:
        if self._conn is None or self._conn.closed:
            try:
                self._conn = psycopg.connect(self._url, autocommit=True, connect_timeout=3)
                self._conn.execute(f"LISTEN {self._channel}")
            except psycopg.Error:
                self._conn = None
        return self._conn

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._nudged.recv(4096)

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
