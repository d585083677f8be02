"""``%dag backfill``, ``pause`` and ``unpause``."""

from __future__ import annotations

import time
from typing import Any

from dagbook.notebook.backfills import Backfill
from dagbook.notebook.magics.parser import Parser, Verb, day, pair, positive
from dagbook.notebook.magics.session import Session
from dagbook.wire.rest import BackfillRequest


def _backfill_parser() -> Parser:
    p = Parser("%dag backfill", "Run a DAG for every interval of past days, first and last included.")
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("start", type=day, metavar="FIRST", help="such as 2025-03-01")
    p.add_argument("end", type=day, metavar="LAST")
    p.add_argument("--max-active", type=positive, default=2, metavar="N", help="runs at once; default 2")
    p.add_argument(
        "--reprocess",
        choices=["none", "failed", "completed"],
        default="none",
        help="days that have a run: leave them, run the failed ones again, or all",
    )
    p.add_argument("--backwards", action="store_true", help="newest day first")
    p.add_argument("--param", action="append", type=pair, default=[], metavar="NAME=VALUE")
    p.add_argument("--no-wait", action="store_true", help="return at once; .wait() later")
    return p


def _backfill(session: Session, args: Any) -> Backfill:
    api = session.api
    request = BackfillRequest(args.start, args.end, args.max_active, args.reprocess, args.backwards, dict(args.param))
    made = Backfill(api, api.backfill(args.dag_id, request))
    if args.no_wait:
        return made
    try:
        made.watch()
    except KeyboardInterrupt:
        print(f"Detached: the backfill goes on without this cell; watch it again with its .watch() ({time.strftime('%H:%M:%S')})")
    return made


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
    Verb("backfill", _backfill_parser(), _backfill, ("dag",)),
    Verb("pause", _pause_parser("pause", "Start no new runs of a DAG."), lambda s, a: _set(s, a, True), ("dag",)),
    Verb("unpause", _pause_parser("unpause", "Let a paused DAG go on."), lambda s, a: _set(s, a, False), ("dag",)),
]
