"""One settings object, read once from ``DAGBOOK_*`` environment variables by a composition root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "DAGBOOK_"


def default_home() -> Path:
    """The user's data folder: ``$DAGBOOK_HOME``, else ``$XDG_DATA_HOME/dagbook``, else ``~/.local/share``."""
    if home := os.environ.get("DAGBOOK_HOME"):
        return Path(home)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "dagbook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every option Dagbook has.  Times in seconds unless the name says otherwise."""

    home: Path = field(default_factory=default_home)
    #: Empty: the embedded PostgreSQL under ``home``.
    database_url: str = ""
    dags_folder: Path | None = None
    parallelism: int = 0  # 0: twice the cores, at least 4
    heartbeat: float = 5.0
    #: A component whose heartbeat is older is dead and its work is adopted.
    heartbeat_timeout: float = 30.0
    parse_timeout: float = 30.0
    parse_processes: int = 2
    max_map_length: int = 10_000
    xcom_max_bytes: int = 256 * 1024 * 1024
    warm_servers: int = 8
    default_timezone: str = "UTC"

    @property
    def logs_folder(self) -> Path:
        return self.home / "logs"

    @property
    def slots(self) -> int:
        return self.parallelism or max(4, 2 * (os.cpu_count() or 2))


def read(environ: Mapping[str, str] | None = None) -> Settings:
    """Build ``Settings`` from the environment; a malformed variable is a ``ValueError`` naming it."""
    env = os.environ if environ is None else environ
    values: dict[str, object] = {}
    for name, kind in Settings.__annotations__.items():
        raw = env.get(PREFIX + name.upper())
        if raw is None or raw == "":
            continue
        values[name] = _convert(PREFIX + name.upper(), raw, str(kind))
    return Settings(**values)  # type: ignore[arg-type]


def _convert(name: str, raw: str, kind: str) -> object:
    try:
        if kind == "int":
            return int(raw)
        if kind == "float":
            return float(raw)
    except ValueError:
        raise ValueError(f"{name}={raw!r} is not a number") from None
    return Path(raw) if "Path" in kind else raw


#: Never handed to user code: task processes and the DAG processor get an environment without these.
SECRET_VARIABLES = ("DAGBOOK_DATABASE_URL", "JUPYTER_TOKEN", "JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN", "DAGBOOK_API_TOKEN")


def user_code_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for processes that run user code: everything but database and server credentials."""
    env = dict(os.environ if environ is None else environ)
    for name in list(env):
        if name in SECRET_VARIABLES or name.startswith("PG") or (name.startswith("DAGBOOK_") and name.endswith("_TOKEN")):
            del env[name]
    return env
