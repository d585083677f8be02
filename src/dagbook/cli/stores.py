"""``dagbook variables …``, ``pools …`` and ``datasets …``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dagbook.cli.admin import engine, pair, shown, table
from dagbook.errors import NotFound, nearest

variables = typer.Typer(no_args_is_help=True, help="Values that tasks read as var.value.NAME.")
pools = typer.Typer(no_args_is_help=True, help="Pools of slots.")
datasets = typer.Typer(no_args_is_help=True, help="Datasets and their events.")

Key = Annotated[str, typer.Argument(metavar="NAME")]
Pool = Annotated[str, typer.Argument(metavar="POOL")]


@variables.command("set")
def set_variable(
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="- reads it from standard input.")],
    description: Annotated[str | None, typer.Option()] = None,
) -> None:
    """Keep a value."""
    from dagbook.commands import variables as command

    with engine() as (work, _, _settings):
        command.set_variable(work, key, sys.stdin.read() if value == "-" else value, description)


@variables.command("get")
def get_variable(key: Key) -> None:
    """Print a value."""
    from dagbook.store import secrets

    with engine() as (work, _, _settings):
        value, known = secrets.variable(work, key), secrets.variable_keys(work)
    if value is None:
        raise NotFound(f"there is no variable {key!r}{nearest(key, known)}")
    typer.echo(value)


@variables.command("list")
def list_variables() -> None:
    """Names, without the values."""
    from dagbook.store import secrets

    with engine() as (work, _, _settings):
        found = secrets.variable_keys(work)
    table(["name"], [(k,) for k in found], "no variables")


@variables.command("delete")
def delete_variable(key: Key) -> None:
    """Forget a value."""
    from dagbook.commands import variables as command

    with engine() as (work, _, _settings):
        command.delete(work, key)


@pools.command("list")
def list_pools() -> None:
    """Pools with their slots, and who waits."""
    from dagbook.store import pools as store

    with engine() as (work, _, _settings):
        found = store.listing(work)
    rows = [(p.name, p.slots, p.occupied, p.waiting, "yes" if p.include_deferred else "no", p.description) for p in found]
    table(["pool", "slots", "taken", "waiting", "deferred count", "description"], rows, "no pools")


@pools.command("set")
def set_pool(
    name: Pool,
    slots: Annotated[int, typer.Argument(metavar="SLOTS")],
    description: Annotated[str | None, typer.Option()] = None,
    include_deferred: Annotated[bool | None, typer.Option(help="Deferred tasks hold their slots.")] = None,
) -> None:
    """Make a pool, or change its size."""
    from dagbook.commands import pools as command

    with engine() as (work, _, _settings):
        command.set_pool(work, name, slots, description, include_deferred)


@pools.command("delete")
def delete_pool(name: Pool) -> None:
    """Delete a pool that nothing is in."""
    from dagbook.commands import pools as command

    with engine() as (work, _, _settings):
        command.delete(work, name)


@datasets.command("list")
def list_datasets() -> None:
    """Datasets, when they last had news, and the DAGs that wait for them."""
    from dagbook.queries import datasets as queries

    with engine() as (work, _, _settings):
        found = queries.listing(work)
    rows = [(d.uri, d.events, shown(d.last_event), ", ".join(d.consumers), ", ".join(d.pending)) for d in found]
    table(["dataset", "events", "last (UTC)", "starts", "has unused news for"], rows, "no datasets")


@datasets.command()
def events(uri: Annotated[str | None, typer.Argument(metavar="[URI]")] = None, limit: int = 25) -> None:
    """The newest events, of one dataset or all."""
    from dagbook.queries import datasets as queries

    with engine() as (work, _, _settings):
        found = queries.events(work, uri, limit)
    rows = [(e.id, shown(e.at), e.uri, e.source_dag_id, e.source_run_id, e.source_task_id, e.extra or "") for e in found]
    table(["event", "at (UTC)", "dataset", "DAG", "run", "task", "extra"], rows, "no events")


@datasets.command()
def post(
    uri: Annotated[str, typer.Argument(metavar="URI")],
    extra: Annotated[list[str] | None, typer.Option("--extra", "-x", metavar="NAME=VALUE")] = None,
) -> None:
    """Say that a dataset has a new state."""
    from dagbook.commands import datasets as command

    with engine() as (work, _, _settings):
        number = command.post_event(work, uri, dict(pair(x) for x in extra or []))
    typer.echo(f"event {number}")
