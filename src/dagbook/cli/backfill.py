"""``dagbook backfill …``."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated

import typer

from dagbook.cli.admin import engine, pair, shown, table
from dagbook.errors import Invalid

if TYPE_CHECKING:
    from dagbook.wire.rest import BackfillRequest

backfill = typer.Typer(no_args_is_help=True, help="Runs for past intervals.")

DagId = Annotated[str, typer.Argument(metavar="DAG")]
Day = Annotated[str, typer.Argument(metavar="DAY", help="Such as 2025-03-01.")]
Number = Annotated[int, typer.Argument(metavar="NUMBER", help="As dagbook backfill list shows it.")]
MaxActive = Annotated[int, typer.Option("--max-active-runs", metavar="N", help="Runs at once.")]
Reprocess = Annotated[str, typer.Option(help="Intervals that have a run: none, failed or completed ones run again.")]
Backwards = Annotated[bool, typer.Option("--run-backwards", help="Newest first.")]
Param = Annotated[list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE")]


def _request(first: str, last: str, max_active_runs: int, reprocess: str, backwards: bool, param: list[str] | None) -> BackfillRequest:
    from dagbook.wire.rest import BackfillRequest

    return BackfillRequest(_day(first), _day(last), max_active_runs, reprocess, backwards, dict(pair(p) for p in param or []))


def _day(word: str) -> date:
    try:
        return date.fromisoformat(word)
    except ValueError:
        raise Invalid(f"{word!r} is no day; write it as 2025-03-01") from None


@backfill.command()
def create(
    dag_id: DagId,
    first: Day,
    last: Day,
    max_active_runs: MaxActive = 1,
    reprocess: Reprocess = "none",
    backwards: Backwards = False,
    param: Param = None,
) -> None:
    """Queue a run for every interval from one day to another, both included."""
    from dagbook.commands import backfill as command
    from dagbook.queries import backfills

    request = _request(first, last, max_active_runs, reprocess, backwards, param)
    with engine() as (work, cache, _):
        number = command.create(work, cache, dag_id, request)
        made = backfills.one(work, dag_id, number)
    typer.echo(f"backfill {number} of {dag_id}: {made.total} runs")


@backfill.command()
def preview(
    dag_id: DagId,
    first: Day,
    last: Day,
    max_active_runs: MaxActive = 1,
    reprocess: Reprocess = "none",
    backwards: Backwards = False,
    param: Param = None,
) -> None:
    """What create would do to each interval, and why."""
    from dagbook.commands import backfill as command

    request = _request(first, last, max_active_runs, reprocess, backwards, param)
    with engine() as (work, cache, _):
        steps = command.preview(work, cache, dag_id, request)
    table(
        ["from (UTC)", "to", "action", "reason"], [(shown(s.interval.start), shown(s.interval.end), s.action, s.reason) for s in steps], ""
    )


@backfill.command("list")
def list_backfills(dag_id: DagId) -> None:
    """A DAG's backfills, newest first."""
    from dagbook.queries import backfills

    with engine() as (work, _, _settings):
        found = backfills.of_dag(work, dag_id)
    rows = [(b.id, b.start, b.end, b.state, ", ".join(f"{n} {s}" for s, n in sorted(b.counts.items())), b.max_active_runs) for b in found]
    table(["number", "first", "last", "state", "runs", "at once"], rows, "no backfills")


@backfill.command()
def pause(dag_id: DagId, number: Number) -> None:
    """Start no more of its runs; those that have started go on."""
    _set_paused(dag_id, number, True)


@backfill.command()
def resume(dag_id: DagId, number: Number) -> None:
    """Let a paused one go on."""
    _set_paused(dag_id, number, False)


def _set_paused(dag_id: str, number: int, is_paused: bool) -> None:
    from dagbook.commands import backfill as command

    with engine() as (work, _, _settings):
        command.pause(work, dag_id, number, is_paused)
    typer.echo(f"backfill {number} of {dag_id} is {'paused' if is_paused else 'running'}")


@backfill.command()
def cancel(dag_id: DagId, number: Number) -> None:
    """Stop its runs, and never start those that wait."""
    from dagbook.commands import backfill as command

    with engine() as (work, _, _settings):
        command.cancel(work, dag_id, number, "")
    typer.echo(f"backfill {number} of {dag_id} is cancelled")
