"""``%%dag ID``: check the cell, keep it as a draft, show its graph."""

from __future__ import annotations

from typing import Any

from dagbook.errors import Invalid
from dagbook.notebook.magics.parser import Parser, moment, pair, positive, split
from dagbook.notebook.magics.session import Session
from dagbook.notebook.slicing import DagOptions, slice_cell
from dagbook.widgets.view import show_dag


def parser() -> Parser:
    p = Parser(
        "%%dag",
        "Make the cell a DAG.  It may hold @task functions and calls, a `with DAG(...)` block, or an @dag function\n"
        "that it calls.  The DAG is kept as a draft: run it with %dag run ID.",
    )
    p.add_argument("dag_id", metavar="ID", help="the DAG's id")
    p.add_argument("--schedule", help="5-field cron in quotes, or @hourly, @daily, @weekly, …; without it: by hand only")
    p.add_argument("--start", type=moment, metavar="DATE", help="first logical date, such as 2025-01-01")
    p.add_argument("--end", type=moment, metavar="DATE", help="last logical date")
    p.add_argument("--timezone", help="IANA name, such as Europe/Berlin; default UTC")
    p.add_argument("--catchup", action="store_true", help="once scheduled, run the intervals since --start too")
    p.add_argument("--param", action="append", type=pair, default=[], metavar="NAME=VALUE", help="a run parameter and its default")
    p.add_argument("--tag", action="append", default=[], help="a tag; may be given again")
    p.add_argument("--retries", type=int, help="default retries of its tasks")
    p.add_argument("--max-active-runs", type=positive, metavar="N", help="unfinished runs at once")
    p.add_argument("--max-active-tasks", type=positive, metavar="N", help="running tasks at once")
    p.add_argument("--description", help="one line for the list")
    return p


def define(session: Session, line: str, body: str) -> None:
    args = parser().read(split(line))
    if not body.strip():
        raise Invalid(f"the cell of DAG {args.dag_id!r} is empty; write at least one @task function and call it")
    cell = session.current_cell(body)
    source = slice_cell(args.dag_id, _options(args), cell, session.history)
    detail = session.api.deploy(args.dag_id, source)
    session.sources[args.dag_id] = source
    schedule = f" · {detail.dag.schedule}" if detail.dag.schedule else ""
    show_dag(args.dag_id, detail.tasks, f"draft {detail.dag.version[:8]}{schedule} · run it: %dag run {args.dag_id}")


def _options(args: Any) -> DagOptions:
    more: dict[str, Any] = {
        "timezone": args.timezone,
        "max_active_runs": args.max_active_runs,
        "max_active_tasks": args.max_active_tasks,
        "description": args.description,
        "default_args": None if args.retries is None else {"retries": args.retries},
    }
    return DagOptions(args.schedule, args.start, args.end, args.catchup, dict(args.param), tuple(args.tag), more)
