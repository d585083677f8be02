"""Which Jupyter server this kernel belongs to, and how to speak to it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dagbook.errors import EngineUnavailable

HOW_TO_START = "start one with `jupyter lab`, or without a browser: dagbook standalone"


@dataclass(frozen=True, slots=True)
class Server:
    """``url`` ends with the server's base URL, without a slash at its end."""

    url: str
    token: str = field(repr=False)


def find(environ: Mapping[str, str] | None = None) -> Server:
    """``DAGBOOK_API_URL`` and ``DAGBOOK_API_TOKEN``; else the server that started this kernel; else the newest one alive."""
    env = os.environ if environ is None else environ
    if url := env.get("DAGBOOK_API_URL"):
        return Server(url.rstrip("/"), env.get("DAGBOOK_API_TOKEN", ""))
    if (hub := env.get("JUPYTERHUB_API_TOKEN")) and (base := env.get("JUPYTERHUB_SERVICE_URL")):
        return Server(base.rstrip("/"), hub)
    for info in _running(env.get("JPY_PARENT_PID")):
        return Server(str(info["url"]).rstrip("/"), str(info.get("token", "")))
    raise EngineUnavailable(f"no Jupyter server with Dagbook runs here; {HOW_TO_START}")


def _running(parent: str | None) -> Iterator[dict[str, object]]:
    """What running servers wrote about themselves: this kernel's own first, then the newest."""
    from jupyter_core.paths import jupyter_runtime_dir

    files = sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json"), key=_age)
    own = [f for f in files if f.stem == f"jpserver-{parent}"]
    for path in own + [f for f in files if f not in own]:
        try:
            info = json.loads(path.read_text())
            os.kill(int(info["pid"]), 0)
        except (OSError, ValueError, KeyError):
            continue
        yield info


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0
