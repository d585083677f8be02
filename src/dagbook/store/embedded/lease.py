"""A user's side of the embedded database: start the keeper where there is none, and hold a lease."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import structlog

from dagbook.errors import DatabaseUnavailable
from dagbook.settings import user_code_environment
from dagbook.store.embedded.places import Places, prepare

log = structlog.get_logger(__name__)
#: A first start runs initdb; slow disks need their time.
_PATIENCE = 90.0


class EmbeddedDatabase:
    """A running database and the promise that it stays while this lives.  A keeper that dies is replaced."""

    def __init__(self, places: Places):
        self._places = places
        self._closed = threading.Event()
        self._lease = _acquire(places)
        self.url = places.url
        threading.Thread(target=self._watch, name="database-lease", daemon=True).start()

    def _watch(self) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(OSError):
                if self._lease.recv(1):
                    continue
            if self._closed.is_set():
                return
            try:
                self._lease = _acquire(self._places)
                if self._closed.is_set():  # closed meanwhile, when only the old lease was there to close
                    self._lease.close()
            except DatabaseUnavailable as e:
                log.error("the embedded database can't be started again", error=str(e))
                self._closed.wait(5)

    def close(self) -> None:
        """The server stops some seconds after its last user has left."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._lease.shutdown(socket.SHUT_RDWR)
        self._lease.close()


def open_embedded(home: Path) -> EmbeddedDatabase:
    """Start, or join, the database of ``home``; ``DatabaseUnavailable`` says what keeps it from starting."""
    try:
        return EmbeddedDatabase(prepare(home))
    except OSError as e:
        raise DatabaseUnavailable(f"the embedded database can't use {home}: {e}") from e


def _acquire(places: Places) -> socket.socket:
    deadline = time.monotonic() + _PATIENCE
    spawned: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        lease = _connect(places)
        if lease is not None:
            answer = _answer(lease, deadline)
            if answer == "ready":
                return lease
            lease.close()
            if answer:
                raise DatabaseUnavailable(answer)
        elif spawned is None or spawned.poll() == 0:
            spawned = _spawn(places)
        elif spawned.poll() is not None:
            raise DatabaseUnavailable(f"the embedded database's keeper failed: {_last_words(places)}; see {places.log}")
        time.sleep(0.03)
    raise DatabaseUnavailable(f"the embedded database did not start within {_PATIENCE:g} s; see {places.log}")


def _last_words(places: Places) -> str:
    return (places.log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]


def _connect(places: Places) -> socket.socket | None:
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(str(places.lease))
    except OSError:
        sock.close()
        return None
    return sock


def _answer(lease: socket.socket, deadline: float) -> str:
    """The keeper's one line: ``ready``, or why not; empty when it left before saying."""
    lease.settimeout(max(deadline - time.monotonic(), 0.1))
    said = b""
    with contextlib.suppress(OSError):
        while not said.endswith(b"\n"):
            part = lease.recv(4096)
            if not part:
                return ""
            said += part
    lease.settimeout(None)
    return said.decode().strip()


def _spawn(places: Places) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dagbook.store.embedded.keeper", str(places.root.parent)]
    if os.getuid() == 0:
        # PostgreSQL refuses to run as root: in a user namespace of its own the keeper is an ordinary user.
        unshare = shutil.which("unshare")
        if unshare is None:
            raise DatabaseUnavailable("root can't run PostgreSQL without the program 'unshare' (package util-linux)")
        command = [unshare, "--user", "--map-user=1000", "--map-group=1000", *command]
    with places.log.open("ab") as out:
        places.log.chmod(0o600)
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            cwd=places.root,
            env=user_code_environment(),
        )
