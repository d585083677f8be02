"""``%dag pause`` and ``unpause``."""

from __future__ import annotations

from typing import Any

from dagbook.notebook.magics.parser import Parser, Verb
from dagbook.notebook.magics.session import Session


def _pause_parser(verb: str, description: str) -> Parser:
    p = Parser(f"%dag {verb}", description)
    p.add_argument("dag_id", metavar="ID")
    return p


def _set(session: Session, args: Any, is_paused: bool) -> None:
    found = session.api.pause(args.dag_id, is_paused)
    if is_paused:
        print(f"{found.dag_id} is paused: no new runs start; runs that have started go on")
    else:
        print(f"{found.dag_id} is on" + (f"; next run {found.next_run:%Y-%m-%d %H:%M} UTC" if found.next_run else ""))


VERBS = [
    Verb("pause", _pause_parser("pause", "Start no new runs of a DAG."), lambda s, a: _set(s, a, True), ("dag",)),
    Verb("unpause", _pause_parser("unpause", "Let a paused DAG go on."), lambda s, a: _set(s, a, False), ("dag",)),
]
