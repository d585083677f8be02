"""The files of one embedded database."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

#: Longest path of a unix socket, less the name PostgreSQL adds to its folder.
_SOCKET_PATH_LIMIT = 107 - len("/.s.PGSQL.5432.lock")


@dataclass(frozen=True, slots=True)
class Places:
    """Everything below ``root``, which is private (mode 0700)."""

    root: Path

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def password(self) -> Path:
        return self.root / "password"

    @property
    def lock(self) -> Path:
        return self.root / "keeper.lock"

    @property
    def log(self) -> Path:
        return self.root / "postgres.log"

    @property
    def sockets(self) -> Path:
        """For PostgreSQL's socket and the keeper's; a short folder elsewhere where ``root`` is too deep for a socket."""
        near = self.root / "run"
        if len(os.fsencode(near)) <= _SOCKET_PATH_LIMIT:
            return near
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"dagbook-{name}"

    @property
    def lease(self) -> Path:
        return self.sockets / "lease"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://dagbook:{self.password.read_text().strip()}@/dagbook?host={self.sockets}&port=5432"


def prepare(home: Path) -> Places:
    """Make the folders, private to this user; ``PermissionError`` when somebody else owns one."""
    places = Places((home / "postgres").absolute())
    for folder in (places.root, places.sockets):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to somebody else; remove it or set DAGBOOK_HOME")
        folder.chmod(0o700)
    return places
