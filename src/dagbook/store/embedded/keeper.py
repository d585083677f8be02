"""The process that owns an embedded PostgreSQL: starts it, restarts it, and stops it when nobody holds a lease."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from dagbook.errors import DatabaseUnavailable
from dagbook.store.embedded import binaries
from dagbook.store.embedded.binaries import Binaries
from dagbook.store.embedded.places import Places, prepare

#: Seconds without a lease after which the server stops: a notebook's restart is faster.
GRACE = float(os.environ.get("DAGBOOK_POSTGRES_GRACE") or 15)
_PR_SET_PDEATHSIG = 1
_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "port": "5432",
    "max_connections": "120",
    "shared_buffers": "64MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_wal_size": "256MB",
    "log_min_messages": "warning",
    "log_checkpoints": "off",
}
_libc = ctypes.CDLL(None, use_errno=True)


def main(home: Path) -> int:
    places = prepare(home)
    lock = places.lock.open("w")
    if not _sole(lock.fileno(), places):
        return 0
    return Keeper(places).serve()


def _sole(lock: int, places: Places) -> bool:
    """Wait for a keeper that is leaving; false when another one serves."""
    for _ in range(600):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
                probe.connect(str(places.lease))
                return False
            time.sleep(0.05)
    return False


class Keeper:
    def __init__(self, places: Places):
        self._places = places
        self._leases: list[socket.socket] = []
        self._stopping = False
        self._listening = socket.socket(socket.AF_UNIX)

    def serve(self) -> int:
        signal.signal(signal.SIGTERM, self._stop)
        self._places.lease.unlink(missing_ok=True)
        self._listening.bind(str(self._places.lease))
        self._listening.listen(64)
        try:
            programs = _initialized(self._places)
            server = _start(self._places, programs)
        except DatabaseUnavailable as e:
            self._refuse(str(e))
            return 1
        try:
            self._watch(programs, server)
        finally:
            self._places.lease.unlink(missing_ok=True)
            self._listening.close()
        return 0

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _watch(self, programs: Binaries, server: subprocess.Popen[bytes]) -> None:
        empty_since = time.monotonic()
        while not self._stopping and (self._leases or time.monotonic() - empty_since < GRACE):
            ready, _, _ = select.select([self._listening, *self._leases], [], [], 0.25)
            for sock in ready:
                self._hear(sock)
            if self._leases:
                empty_since = time.monotonic()
            if server.poll() is not None:
                server = _start(self._places, programs)
        # Nobody may join any more; whoever tries starts the next keeper, which waits for this one.
        self._places.lease.unlink(missing_ok=True)
        self._listening.close()
        server.send_signal(signal.SIGINT)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGQUIT)
            server.wait()

    def _hear(self, sock: socket.socket) -> None:
        if sock is self._listening:
            lease, _ = sock.accept()
            lease.sendall(b"ready\n")
            self._leases.append(lease)
            return
        with contextlib.suppress(OSError):
            if sock.recv(64):
                return
        self._leases.remove(sock)
        sock.close()

    def _refuse(self, why: str) -> None:
        """Tell whoever waits, for a moment, and go."""
        end = time.monotonic() + 2
        while (left := end - time.monotonic()) > 0 and select.select([self._listening], [], [], left)[0]:
            lease, _ = self._listening.accept()
            with contextlib.suppress(OSError):
                lease.sendall(why.replace("\n", " ").encode() + b"\n")
            lease.close()
        self._places.lease.unlink(missing_ok=True)


def _initialized(places: Places) -> Binaries:
    """The programs that fit the data folder, which is made where there is none."""
    version = places.data / "PG_VERSION"
    if version.exists():
        return binaries.find(int(version.read_text()))
    programs = binaries.find()
    if not places.password.exists():
        fd = os.open(places.password, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as f:
            f.write(secrets.token_urlsafe(24))
    fresh = places.root / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    made = subprocess.run(
        [
            programs.path("initdb"),
            "-D",
            str(fresh),
            "-U",
            "dagbook",
            "-A",
            "scram-sha-256",
            "--pwfile",
            str(places.password),
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise DatabaseUnavailable(f"initdb failed: {(made.stderr.strip() or made.stdout.strip())[-500:]}")
    fresh.rename(places.data)
    return programs


def _start(places: Places, programs: Binaries) -> subprocess.Popen[bytes]:
    """Start and wait until it answers; after a crash its remnants may need seconds to go."""
    options = {**_OPTIONS, "unix_socket_directories": str(places.sockets)}
    command = [programs.path("postgres"), "-D", str(places.data)]
    for name, value in options.items():
        command += ["-c", f"{name}={value}"]
    end = time.monotonic() + 60
    while time.monotonic() < end:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_parent, start_new_session=True)  # noqa: PLW1509  one thread
        while server.poll() is None and time.monotonic() < end:
            if _answers(places):
                return server
            time.sleep(0.02)
        time.sleep(0.3)
    raise DatabaseUnavailable(f"PostgreSQL {programs.major} does not start; see {places.log}")


def _die_with_parent() -> None:
    """Without its keeper the server shuts down: nothing is left behind, whoever is killed."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _answers(places: Places) -> bool:
    import psycopg

    password = places.password.read_text().strip()
    where = {"host": str(places.sockets), "port": 5432, "user": "dagbook", "password": password, "connect_timeout": 2}
    try:
        with psycopg.connect(dbname="postgres", autocommit=True, **where) as conn:  # type: ignore[arg-type]
            if conn.execute("SELECT 1 FROM pg_database WHERE datname = 'dagbook'").fetchone() is None:
                conn.execute("CREATE DATABASE dagbook")
        return True
    except psycopg.Error:
        return False


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
