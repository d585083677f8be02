"""``%dag backfill`` and ``clear``: work for the past, and work done again."""

from __future__ import annotations

import argparse
import time
from typing import Any, Literal

from dagbook.errors import Invalid, NotFound
from dagbook.notebook.backfills import Backfill
from dagbook.notebook.magics.parser import Parser, Verb, day, index, instant, pair, positive
from dagbook.notebook.magics.run import newest
from dagbook.notebook.magics.session import Session
from dagbook.notebook.runs import Run
from dagbook.notebook.tables import Table
from dagbook.wire.rest import BackfillDetail, BackfillRequest, ClearRequest, ClearResult

_SHOWN = 40


def _backfill_parser() -> Parser:
    p = Parser(
        "%dag backfill",
        "Run a DAG for every interval of past days, first and last included.\n"
        "  %dag backfill ID FIRST LAST            run them; add --preview to see what would happen\n"
        "  %dag backfill ID --pause | --resume | --cancel   change the newest one, or the one that -n names\n"
        "  %dag backfill ID                       list them",
    )
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("start", type=day, metavar="FIRST", nargs="?", help="such as 2025-03-01")
    p.add_argument("end", type=day, metavar="LAST", nargs="?")
    p.add_argument("--preview", action="store_true", help="show what would happen to each interval, and do nothing")
    p.add_argument("--max-active", type=positive, default=1, metavar="N", help="runs at once; default 1")
    p.add_argument(
        "--reprocess",
        choices=["none", "failed", "completed"],
        default="none",
        help="days that have a run: leave them, run the failed ones again, or all",
    )
    p.add_argument("--backwards", action="store_true", help="newest day first")
    p.add_argument("--param", action="append", type=pair, default=[], metavar="NAME=VALUE")
    p.add_argument("--no-wait", action="store_true", help="return at once; .wait() later")
    change = p.add_mutually_exclusive_group()
    for word, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        change.add_argument(f"--{word}", dest="change", action="store_const", const=state, help=f"{word} a backfill of this DAG")
    p.add_argument("-n", "--number", type=positive, metavar="N", help="which backfill; default the newest")
    return p


def _backfill(session: Session, args: Any) -> Backfill | Table:
    api = session.api
    if args.change:
        return _change(session, args.dag_id, args.number, args.change)
    if args.start is None:
        return _listed(api.backfills(args.dag_id), args.dag_id)
    if args.end is None:
        raise Invalid(f"%dag backfill needs the last day too: %dag backfill {args.dag_id} {args.start} {args.start}")
    request = BackfillRequest(args.start, args.end, args.max_active, args.reprocess, args.backwards, dict(args.param))
    if args.preview:
        return _previewed(session, args.dag_id, request)
    made = Backfill(api, api.backfill(args.dag_id, request))
    if args.no_wait:
        return made
    try:
        made.watch()
    except KeyboardInterrupt:
        print(
            f"Detached: the backfill goes on without this cell.  Watch it again with its .watch(); stop it: "
            f"%dag backfill {args.dag_id} --cancel ({time.strftime('%H:%M:%S')})"
        )
    return made


def _change(session: Session, dag_id: str, number: int | None, state: Literal["paused", "running", "cancelled"]) -> Backfill:
    if number is None:
        known = session.api.backfills(dag_id)
        if not known:
            raise NotFound(f"DAG {dag_id!r} has no backfill; make one: %dag backfill {dag_id} FIRST LAST")
        number = known[0].id
    return Backfill(session.api, session.api.change_backfill(dag_id, number, state))


def _previewed(session: Session, dag_id: str, request: BackfillRequest) -> Table:
    found = session.api.preview_backfill(dag_id, request)
    said = ", ".join(f"{n} {action}" for action, n in sorted(found.counts.items()))
    print(f"{said}; {request.max_active_runs} at once. Nothing has been started: leave --preview out to start it.")
    rows = [[f"{i.start:%Y-%m-%d %H:%M}", f"{i.end:%Y-%m-%d %H:%M}", i.action, i.reason] for i in found.intervals]
    return Table(["from (UTC)", "to", "action", "reason"], rows, "no intervals")


def _listed(found: list[BackfillDetail], dag_id: str) -> Table:
    rows = [
        [str(b.id), str(b.start), str(b.end), b.state, ", ".join(f"{n} {s}" for s, n in sorted(b.counts.items())), str(b.max_active_runs)]
        for b in found
    ]
    empty = f"no backfills; make one: %dag backfill {dag_id} FIRST LAST"
    return Table(["number", "first", "last", "state", "runs", "at once"], rows, empty)


def _clear_parser() -> Parser:
    p = Parser("%dag clear", "Let tasks run again: those named, or all.  What runs of them is stopped first.")
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("tasks", metavar="TASK", nargs="*", help="task ids; task[3] for one instance of a mapped task; default all")
    p.add_argument("--regex", metavar="PATTERN", help="tasks whose id it is found in")
    p.add_argument("--run", metavar="RUN", help="default: the newest run")
    p.add_argument("--from", dest="start", type=instant, metavar="DATE", help="instead of one run: all with a logical date from here …")
    p.add_argument("--to", dest="end", type=instant, metavar="DATE", help="… to here, both included")
    p.add_argument("--upstream", action="store_true", help="with all that is above them")
    p.add_argument("--downstream", action="store_true", help="with all that is below them")
    p.add_argument("--only-failed", action="store_true", help="of these, only what failed or was upstream_failed")
    p.add_argument("--original", action="store_true", help="by the version that the run has had, not the DAG's current one")
    p.add_argument("--dry-run", action="store_true", help="show what would be cleared, and clear nothing")
    p.add_argument("--no-wait", action="store_true", help="return at once; .wait() or .watch() later")
    return p


def _clear(session: Session, args: Any) -> Run | Table | None:
    request = _clear_request(session, args)
    found = session.api.clear(args.dag_id, request)
    if not found.count:
        print("Nothing to clear: none of these tasks has started" + (", or failed" if args.only_failed else ""))
        return None
    if args.dry_run:
        print(f"Would clear {_said(found)}; leave --dry-run out to do it.")
        return _cleared(found)
    print(f"Cleared {_said(found)}")
    if found.left_behind:
        print(f"Stays upstream_failed: {', '.join(found.left_behind)}; add --downstream to run what is below, too")
    if request.run_id is None:
        return _cleared(found)
    run = Run(session.api, session.api.run(args.dag_id, request.run_id))
    return run if args.no_wait else run.watch()


def _clear_request(session: Session, args: argparse.Namespace) -> ClearRequest:
    targets = [index(word) for word in args.tasks]
    run = args.run
    if run is None and args.start is None and args.end is None:
        run = newest(session, args.dag_id)
    return ClearRequest(
        run_id=run,
        start=args.start,
        end=args.end,
        tasks=list(dict.fromkeys(task for task, _ in targets)),
        task_regex=args.regex,
        upstream=args.upstream,
        downstream=args.downstream,
        only_failed=args.only_failed,
        map_indexes=[n for _, n in targets if n >= 0],
        original=args.original,
        dry_run=args.dry_run,
    )


def _said(found: ClearResult) -> str:
    instances = "1 task instance" if found.count == 1 else f"{found.count} task instances"
    return instances + (f" of {found.runs} runs" if found.runs > 1 else "")


def _cleared(found: ClearResult) -> Table:
    rows = [[i.run_id, i.task_id if i.map_index < 0 else f"{i.task_id}[{i.map_index}]", i.state] for i in found.instances[:_SHOWN]]
    if found.count > len(rows):
        rows.append(["…", f"and {found.count - len(rows)} more", ""])
    return Table(["run", "task", "state"], rows, "nothing")


VERBS = [Verb("backfill", _backfill_parser(), _backfill, ("dag",)), Verb("clear", _clear_parser(), _clear, ("dag", "task"))]
