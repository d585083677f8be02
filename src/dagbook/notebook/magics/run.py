"""``%dag run`` and ``%dag cancel``."""

from __future__ import annotations

import sys
from typing import Any

from dagbook.errors import NotFound, nearest
from dagbook.notebook.magics.parser import Parser, Verb, instant, pair
from dagbook.notebook.magics.session import Session
from dagbook.notebook.runs import Run
from dagbook.states import FAILURES
from dagbook.testing.inprocess import TestRun, run_source
from dagbook.wire.rest import TriggerRequest


def _run_parser() -> Parser:
    p = Parser("%dag run", "Run a DAG on the engine and watch it here: run = %dag run ID.\nInterrupting the cell leaves the run going.")
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("--date", type=instant, metavar="DATE", help="logical date, such as 2025-03-01; default now")
    p.add_argument("--param", "--conf", action="append", type=pair, default=[], metavar="NAME=VALUE", help="a parameter of this run")
    p.add_argument("--run-id", help="a name of your own for the run")
    p.add_argument("--no-wait", action="store_true", help="return at once; .wait() or .watch() later")
    return p


def _act(session: Session, args: Any) -> Run:
    api = session.api
    detail = api.trigger(args.dag_id, TriggerRequest(args.date, dict(args.param), args.run_id))
    run = Run(api, detail)
    if args.no_wait:
        return run
    run.watch()
    _tell_failures(run)
    return run


def _tell_failures(run: Run) -> None:
    for task in run:
        if task.state in FAILURES and task.reason:
            print(f"✘ {task.task_id}: {task.reason}")


def _test_parser() -> Parser:
    p = Parser(
        "%dag test",
        "Run a DAG of this notebook in this kernel, task by task: breakpoint() stops, and %debug opens where it failed.\n"
        "Its outcome is returned and kept nowhere; retries come at once; pools, limits and time-outs don't count.",
    )
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("--date", type=instant, metavar="DATE", help="logical date, such as 2025-03-01; default now")
    p.add_argument("--param", "--conf", action="append", type=pair, default=[], metavar="NAME=VALUE", help="a parameter of this run")
    p.add_argument("--var", action="append", type=pair, default=[], metavar="NAME=VALUE", help="a variable that tasks may read")
    p.add_argument("--conn", action="append", type=pair, default=[], metavar="ID=URI", help="a connection that tasks may use")
    return p


def _test(session: Session, args: Any) -> TestRun:
    source = session.sources.get(args.dag_id)
    if source is None:
        known = nearest(args.dag_id, list(session.sources))
        raise NotFound(f"no cell of this kernel has made a DAG {args.dag_id!r}{known}; run its %%dag cell first")
    run = run_source(
        source, args.dag_id, logical_date=args.date, conf=dict(args.param), variables=dict(args.var), connections=dict(args.conn)
    )
    if run.error is not None:
        # What %debug looks for.
        sys.last_type, sys.last_value, sys.last_traceback = type(run.error), run.error, run.error.__traceback__
        print("%debug opens where it failed.")
    return run


def _cancel_parser() -> Parser:
    p = Parser("%dag cancel", "Stop a run: what runs is killed, what waits never starts.")
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("run_id", metavar="RUN", nargs="?", help="default: the newest run")
    return p


def _cancel(session: Session, args: Any) -> Run:
    api = session.api
    return Run(api, api.cancel(args.dag_id, args.run_id or newest(session, args.dag_id)))


def newest(session: Session, dag_id: str) -> str:
    runs = session.api.runs(dag_id, 1)
    if not runs:
        raise NotFound(f"DAG {dag_id!r} has no runs yet; start one: %dag run {dag_id}")
    return runs[0].run_id


VERBS = [
    Verb("run", _run_parser(), _act, ("dag",)),
    Verb("test", _test_parser(), _test, ("dag",)),
    Verb("cancel", _cancel_parser(), _cancel, ("dag", "run")),
]
