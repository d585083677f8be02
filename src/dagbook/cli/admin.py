"""What the commands for people share: the open database, tables, answers to yes-or-no."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from dagbook import settings
from dagbook.errors import Invalid

if TYPE_CHECKING:
    from dagbook.settings import Settings
    from dagbook.store.versions import Versions
    from dagbook.store.work import Work


@contextmanager
def engine() -> Iterator[tuple[Work, Versions, Settings]]:
    """One transaction on the engine's database."""
    from dagbook.services.opening import open_store

    read = settings.read()
    opened = open_store(read)
    try:
        with opened.store.begin() as work:
            yield work, opened.versions, read
    finally:
        opened.close()


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
    """On a terminal a table; in a pipe, lines with tabs between."""
    import sys

    listed = [["" if c is None else str(c) for c in row] for row in rows]
    if not sys.stdout.isatty():
        for row in listed:
            typer.echo("\t".join(row))
        return
    if not listed:
        typer.echo(empty)
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    made = Table(*head)
    for row in listed:
        made.add_row(*(escape(c) for c in row))
    Console().print(made)


def pair(word: str) -> tuple[str, Any]:
    """``name=value``; the value as JSON where it is that, else as text."""
    import json

    name, equals, raw = word.partition("=")
    if not equals or not name:
        raise Invalid(f"{word!r} is not NAME=VALUE")
    try:
        return name, json.loads(raw)
    except ValueError:
        return name, raw


def instant(word: str | None) -> datetime | None:
    """An ISO date or instant; without an offset it is UTC."""
    if word is None:
        return None
    try:
        found = datetime.fromisoformat(word)
    except ValueError:
        raise Invalid(f"{word!r} is no date; write it as 2025-03-01 or 2025-03-01T06:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def task_index(word: str) -> tuple[str, int]:
    """``task`` or ``task[3]``."""
    task, bracket, rest = word.partition("[")
    if not bracket:
        return task, -1
    if not rest.endswith("]") or not rest[:-1].isdigit():
        raise Invalid(f"{word!r} is no task; write task[3] for the fourth instance of a mapped one")
    return task, int(rest[:-1])


def shown(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}" if moment else "–"


def tell_why(found: Any) -> None:
    """A chain of reasons, each with what to type."""
    typer.echo(found.subject + (f": {found.state}" if found.state else ""))
    groups = {"unpause": "dags", "run": "dags", "clear": "tasks", "backfill": ""}
    for reason in found.reasons:
        typer.echo(f"  • {reason.text}")
        if reason.fix is None:
            continue
        fix = reason.fix
        if not fix.startswith("dagbook "):
            verb = fix.split()[0]
            fix = " ".join(filter(None, ["dagbook", groups.get(verb, ""), _as_command(fix)]))
        typer.echo(f"      → {fix}")


def _as_command(fix: str) -> str:
    """A magic's words as this command line's."""
    words = fix.split()
    match words:
        case ["run", dag_id]:
            return f"trigger {dag_id}"
        case ["backfill", dag_id, "--resume", "-n", number]:
            return f"backfill resume {dag_id} {number}"
    return fix
