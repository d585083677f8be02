"""``%dag list``, ``show``, ``why`` and ``status``."""

from __future__ import annotations

from typing import Any

from dagbook.client.discover import HOW_TO_START
from dagbook.notebook.magics.parser import Parser, Verb, index
from dagbook.notebook.magics.run import newest
from dagbook.notebook.magics.session import Session
from dagbook.notebook.reasons import Reasons
from dagbook.notebook.runs import Run
from dagbook.notebook.tables import Table
from dagbook.widgets.picture import LOOKS
from dagbook.widgets.view import show_dag


def _list_parser() -> Parser:
    p = Parser("%dag list", "The DAGs with their last runs.")
    p.add_argument("search", nargs="?", default="", help="part of an id or description, or a tag")
    return p


def _list(session: Session, args: Any) -> Table:
    rows = [
        [
            d.dag_id,
            "draft" if d.is_draft else "paused" if d.is_paused else "on",
            d.schedule or "by hand",
            " ".join(LOOKS.get(r.state, ("", "◌"))[1] for r in reversed(d.recent_runs)) or "–",
            f"{d.next_run:%Y-%m-%d %H:%M}" if d.next_run else "–",
        ]
        for d in session.api.dags(args.search)
    ]
    empty = f"no DAG matches {args.search!r}" if args.search else "no DAGs yet; make one with %%dag ID in a cell"
    return Table(["DAG", "state", "schedule", "last runs", "next run (UTC)"], rows, empty)


def _show_parser() -> Parser:
    p = Parser("%dag show", "A DAG's graph, or the picture of one of its runs.")
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("run_id", metavar="RUN", nargs="?")
    p.add_argument("--source", action="store_true", help="print the module that workers load")
    return p


def _show(session: Session, args: Any) -> Run | None:
    api = session.api
    if args.run_id:
        return Run(api, api.run(args.dag_id, args.run_id)).watch()
    detail = api.dag(args.dag_id)
    if args.source:
        print(detail.source.text)
        return None
    show_dag(args.dag_id, detail.tasks, f"{'draft' if detail.dag.is_draft else 'version'} {detail.dag.version[:8]}")
    if detail.dag.schedule:
        at = f"{detail.dag.next_run:%Y-%m-%d %H:%M} UTC" if detail.dag.next_run else "none"
        print(f"Schedule {detail.dag.schedule}; next run: {at} – {detail.next_run_reason}")
    return None


def _why_parser() -> Parser:
    p = Parser("%dag why", "Why a DAG, its run, or a task doesn't go on; each reason is held up by the next one.")
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("task", metavar="TASK", nargs="?", help="a task of the run; task[3] for one instance of a mapped task")
    p.add_argument("--run", metavar="RUN", help="default: the newest run, where a task is asked for")
    return p


def _why(session: Session, args: Any) -> Reasons:
    run, task, n = args.run, None, -1
    if args.task:
        task, n = index(args.task)
        run = run or newest(session, args.dag_id)
    return Reasons(session.api.why(args.dag_id, run, task, n))


def _status(session: Session, _args: Any) -> Table:
    found = session.api.status()
    rows = [[c.kind, "yes" if c.alive else "no", f"{c.age or 0:.1f} s ago", c.host, str(c.pid)] for c in found.components]
    if not any(c.kind == "scheduler" and c.alive for c in found.components):
        print(f"No scheduler is alive, so nothing runs; {HOW_TO_START}")
    for e in session.api.import_errors():
        print(f"✘ {e.path}" + (f", line {e.line}" if e.line else "") + f": {e.message}")
    return Table(["component", "alive", "last seen", "host", "pid"], rows, f"Dagbook {found.version}: nothing runs")


VERBS = [
    Verb("why", _why_parser(), _why, ("dag", "task")),
    Verb("list", _list_parser(), _list),
    Verb("show", _show_parser(), _show, ("dag", "run")),
    Verb("status", Parser("%dag status", "Which parts of the engine are alive, and which DAG files have errors."), _status),
]
