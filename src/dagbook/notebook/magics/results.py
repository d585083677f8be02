"""``%dag logs`` and ``%dag xcom``."""

from __future__ import annotations

import argparse
from typing import Any

from dagbook.notebook.magics.parser import Parser, Verb, index
from dagbook.notebook.magics.run import newest
from dagbook.notebook.magics.session import Session
from dagbook.notebook.runs import Instance, Run, Task
from dagbook.spec.models import RETURN_VALUE


def _parser(command: str, description: str) -> Parser:
    p = Parser(command, description)
    p.add_argument("dag_id", metavar="ID")
    p.add_argument("task", metavar="TASK", help="a task id; task[3] for one instance of a mapped task")
    p.add_argument("--run", metavar="RUN", help="default: the newest run")
    return p


def _found(session: Session, args: argparse.Namespace) -> Task | Instance:
    task, n = index(args.task)
    run = Run(session.api, session.api.run(args.dag_id, args.run or newest(session, args.dag_id)))
    return run[task] if n < 0 else run[task][n]


def _logs(session: Session, args: Any) -> None:
    text = _found(session, args).log_of(args.attempt)
    print(text if text.strip() else f"(nothing was written to the log of {args.task})")


def _xcom(session: Session, args: Any) -> Any:
    return _found(session, args).xcom(args.key)


def _logs_parser() -> Parser:
    p = _parser("%dag logs", "Print what a task wrote.")
    p.add_argument("--try", dest="attempt", type=int, metavar="N", help="an earlier try; default the newest")
    return p


def _xcom_parser() -> Parser:
    p = _parser("%dag xcom", "A task's result as a Python value: frame = %dag xcom ID TASK.")
    p.add_argument("--key", default=RETURN_VALUE, help="a value pushed under another name")
    return p


VERBS = [Verb("logs", _logs_parser(), _logs, ("dag", "task")), Verb("xcom", _xcom_parser(), _xcom, ("dag", "task"))]
