"""``%load_ext dagbook`` and ``%unload_ext dagbook``."""

from __future__ import annotations

from typing import Any

from dagbook.notebook.magics.complete import Completer
from dagbook.notebook.magics.dag import DagMagics
from dagbook.notebook.magics.session import Session

_HOOK = "complete_command"


def load(ip: Any) -> None:
    """Idempotent."""
    session = Session(ip)
    ip.register_magics(DagMagics(ip, session))
    ip.set_hook(_HOOK, Completer(session), str_key="%dag")


def unload(ip: Any) -> None:
    """Take the magics and the completion away."""
    for kind in ("line", "cell"):
        ip.magics_manager.magics[kind].pop("dag", None)
    ip.magics_manager.registry.pop(DagMagics.__name__, None)
    ip.strdispatchers[_HOOK].strs.pop("%dag", None)
