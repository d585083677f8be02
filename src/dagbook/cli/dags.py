"""``dagbook dags …``, ``tasks …`` and ``check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dagbook import settings
from dagbook.cli.admin import engine, instant, pair, shown, table, task_index, tell_why
from dagbook.errors import InvalidDag, NotFound
from dagbook.states import RunState

dags = typer.Typer(no_args_is_help=True, help="DAGs and their runs.")
tasks = typer.Typer(no_args_is_help=True, help="Task instances.")

DagId = Annotated[str, typer.Argument(metavar="DAG")]
Run = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Default: the newest run.")]


@dags.command("list")
def list_dags(search: Annotated[str, typer.Argument(help="Part of an id or description, or a tag.")] = "") -> None:
    """The DAGs, their schedules and next runs."""
    from dagbook.queries import dags as queries

    with engine() as (work, _, _settings):
        found = queries.listing(work, search)
    rows = [
        (d.dag_id, "draft" if d.is_draft else "paused" if d.is_paused else "on", d.schedule or "by hand", shown(d.next_run), d.description)
        for d in found
    ]
    table(["DAG", "state", "schedule", "next run (UTC)", "description"], rows, "no DAGs yet")


@dags.command("next")
def next_run(dag_id: DagId) -> None:
    """When the next scheduled run is due, and why then."""
    from dagbook.queries import dags as queries

    with engine() as (work, cache, _settings):
        found = queries.detail(work, cache, dag_id)
    typer.echo(f"{shown(found.dag.next_run)}: {found.next_run_reason}")


@dags.command()
def runs(dag_id: DagId, limit: int = 25) -> None:
    """A DAG's runs, newest first."""
    from dagbook.queries import runs as queries

    with engine() as (work, _, _settings):
        found = queries.newest(work, dag_id, limit)
    rows = [(r.run_id, r.state, r.run_type, shown(r.logical_date), shown(r.start_date), shown(r.end_date), r.reason) for r in found]
    table(["run", "state", "type", "logical date (UTC)", "start", "end", "reason"], rows, "no runs yet")


@dags.command()
def pause(dag_id: DagId) -> None:
    """Start no new runs; those that have started go on."""
    _set_paused(dag_id, True)


@dags.command()
def unpause(dag_id: DagId) -> None:
    """Let a paused DAG go on."""
    _set_paused(dag_id, False)


def _set_paused(dag_id: str, is_paused: bool) -> None:
    from dagbook.commands import pause as command
    from dagbook.services.loop import utc_now

    with engine() as (work, cache, _):
        command.pause(work, cache, dag_id, is_paused, utc_now())
    typer.echo(f"{dag_id} is {'paused' if is_paused else 'on'}")


@dags.command()
def trigger(
    dag_id: DagId,
    date: Annotated[str | None, typer.Option(metavar="DATE", help="Logical date; default now.")] = None,
    param: Annotated[list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE")] = None,
    run_id: Annotated[str | None, typer.Option(metavar="RUN")] = None,
) -> None:
    """Queue a run by hand."""
    from dagbook.commands import trigger as command
    from dagbook.services.loop import utc_now

    conf = dict(pair(p) for p in param or [])
    with engine() as (work, cache, _):
        made = command.trigger(work, cache, dag_id, utc_now(), logical_date=instant(date), conf=conf, run_id=run_id)
    typer.echo(made.run_id)


@dags.command("test")
def in_process(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    dag_id: Annotated[str | None, typer.Argument(metavar="DAG", help="Which of the file's DAGs, where it has several.")] = None,
    date: Annotated[str | None, typer.Option(metavar="DATE", help="Logical date; default now.")] = None,
    param: Annotated[list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE")] = None,
    var: Annotated[list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="A variable that tasks may read.")] = None,
    conn: Annotated[list[str] | None, typer.Option("--conn", metavar="ID=URI", help="A connection that tasks may use.")] = None,
) -> None:
    """Run a file's DAG here, task by task, without an engine or a database; exit code 1 when it fails."""
    from dagbook.spec.models import DagSource
    from dagbook.testing.inprocess import run_source

    run = run_source(
        DagSource(file.read_text(), path=str(file.resolve())),
        dag_id,
        logical_date=instant(date),
        conf=dict(pair(p) for p in param or []),
        variables=dict(pair(v) for v in var or []),
        connections=dict(pair(c) for c in conn or []),
        timezone=settings.read().default_timezone,
    )
    typer.echo(repr(run))
    if run.state is not RunState.SUCCESS:
        raise typer.Exit(1)


@dags.command()
def cancel(dag_id: DagId, run_id: Annotated[str, typer.Argument(metavar="RUN")]) -> None:
    """Stop a run: what runs is killed, what waits never starts."""
    from dagbook.commands import trigger as command

    with engine() as (work, _, _settings):
        command.cancel(work, dag_id, run_id, "")
    typer.echo(f"{run_id} is cancelled")


@dags.command("why")
def why_dag(dag_id: DagId, run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Of this run.")] = None) -> None:
    """Why no run of it starts, or why a run doesn't go on."""
    from dagbook.queries import why

    with engine() as (work, cache, s):
        found = why.run(work, cache, s, dag_id, run) if run else why.dag(work, cache, s, dag_id)
    tell_why(found)


@tasks.command("why")
def why_task(dag_id: DagId, task: Annotated[str, typer.Argument(metavar="TASK")], run: Run = None) -> None:
    """Why a task doesn't go on; task[3] is one instance of a mapped one."""
    from dagbook.queries import why

    task_id, index = task_index(task)
    with engine() as (work, cache, s):
        found = why.task(work, cache, s, dag_id, run or _newest(work, dag_id), task_id, index)
    tell_why(found)


@tasks.command()
def clear(
    dag_id: DagId,
    names: Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help="Task ids; task[3] for one instance; default all.")] = None,
    regex: Annotated[str | None, typer.Option("--task-regex", "-t", metavar="PATTERN", help="Tasks whose id it is found in.")] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="This run alone.")] = None,
    start: Annotated[str | None, typer.Option("--start-date", "-s", metavar="DATE", help="Runs with a logical date from here …")] = None,
    end: Annotated[str | None, typer.Option("--end-date", "-e", metavar="DATE", help="… to here, both included.")] = None,
    upstream: Annotated[bool, typer.Option("--upstream", "-u", help="With all that is above them.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", "-d", help="With all that is below them.")] = False,
    only_failed: Annotated[bool, typer.Option("--only-failed", "-f", help="Only what failed or was upstream_failed.")] = False,
    original: Annotated[bool, typer.Option(help="By the runs' own versions, not the current one.")] = False,
    dry_run: Annotated[bool, typer.Option(help="List what would be cleared, and clear nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Let tasks that have run, run again; what runs of them is stopped first."""
    import msgspec

    from dagbook.commands import clear as command
    from dagbook.wire.rest import ClearRequest

    targets = [task_index(n) for n in names or []]
    request = ClearRequest(
        run_id=run,
        start=instant(start),
        end=instant(end),
        tasks=list(dict.fromkeys(t for t, _ in targets)),
        task_regex=regex,
        upstream=upstream,
        downstream=downstream,
        only_failed=only_failed,
        map_indexes=[n for _, n in targets if n >= 0],
        original=original,
        dry_run=True,
    )
    with engine() as (work, cache, s):
        found = command.clear(work, cache, dag_id, request, s.max_map_length)
    rows = [(i.run_id, i.task_id if i.map_index < 0 else f"{i.task_id}[{i.map_index}]", i.state) for i in found.instances]
    table(["run", "task", "state"], rows, "nothing to clear")
    if found.count and not dry_run and (yes or typer.confirm(f"Clear these {found.count} task instances of {found.runs} runs?")):
        with engine() as (work, cache, s):
            found = command.clear(work, cache, dag_id, msgspec.structs.replace(request, dry_run=False), s.max_map_length)
        typer.echo(f"cleared {found.count} task instances of {found.runs} runs")
        if found.left_behind:
            typer.echo(f"stays upstream_failed: {', '.join(found.left_behind)}; add --downstream to run what is below, too")


def _newest(work: object, dag_id: str) -> str:
    from dagbook.queries import runs as queries

    found = queries.newest(work, dag_id, 1)  # type: ignore[arg-type]
    if not found:
        raise NotFound(f"DAG {dag_id!r} has no runs yet; start one: dagbook dags trigger {dag_id}")
    return found[0].run_id


def check(paths: Annotated[list[Path], typer.Argument(metavar="FILE...", exists=True)]) -> None:
    """Import DAG files as the engine would, and list every fault; exit code 1 when there are any."""
    from dagbook.spec.models import DagSource
    from dagbook.worker.parse import parse

    bad = False
    files = [f for p in paths for f in (sorted(p.rglob("*.py")) if p.is_dir() else [p])]
    for file in files:
        try:
            found = parse(DagSource(file.read_text(), path=str(file.resolve())), settings.read().parse_timeout)
            typer.echo(f"{file}: {', '.join(spec.dag_id for spec, _ in found) or 'no DAGs'}")
        except (InvalidDag, UnicodeDecodeError) as e:
            bad = True
            for line in str(e).splitlines():
                typer.echo(line if str(file.name) in line else f"{file}: {line}", err=True)
    if bad:
        raise typer.Exit(1)
