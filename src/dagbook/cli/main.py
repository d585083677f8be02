"""The command line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dagbook import __version__, settings
from dagbook.cli import backfill, dags, stores
from dagbook.errors import DagbookError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help=f"Dagbook {__version__}: DAGs that live in Jupyter.", pretty_exceptions_enable=False
)
db = typer.Typer(no_args_is_help=True, help="The metadata database.")
app.add_typer(db, name="db")
app.add_typer(dags.dags, name="dags")
app.add_typer(dags.tasks, name="tasks")
app.add_typer(backfill.backfill, name="backfill")
app.add_typer(stores.variables, name="variables")
app.add_typer(stores.pools, name="pools")
app.add_typer(stores.datasets, name="datasets")
app.command("check")(dags.check)

Parent = Annotated[int | None, typer.Option(hidden=True, help="Process to end with.")]
Port = Annotated[int, typer.Option(help="Port to listen on.")]
Address = Annotated[str, typer.Option("--ip", help="Address to listen on.")]

_EXTENSIONS = ("dagbook.api", "dagbook.api.scheduler", "dagbook.api.triggerer")


@app.command()
def standalone(port: Port = 8888, ip: Address = "127.0.0.1") -> None:
    """Start the whole engine without JupyterLab: API, scheduler and triggerer."""
    _serve(_EXTENSIONS, ip, port)


@app.command()
def api(port: Port = 8888, ip: Address = "127.0.0.1") -> None:
    """Serve the API alone; schedulers and triggerers run elsewhere."""
    _serve(_EXTENSIONS[:1], ip, port)


def _serve(extensions: tuple[str, ...], ip: str, port: int) -> None:
    from jupyter_server.serverapp import ServerApp

    enabled = {e: e in extensions for e in _EXTENSIONS}
    ServerApp.launch_instance(
        [f"--ServerApp.jpserver_extensions={enabled!r}", f"--ServerApp.ip={ip}", f"--ServerApp.port={port}", "--allow-root", "--no-browser"]
    )


@app.command()
def scheduler(parent: Parent = None) -> None:
    """Decide, queue and run tasks; watches DAGBOOK_DAGS_FOLDER where it is set."""
    from dagbook.cli import components

    components.scheduler(parent)


@app.command()
def triggerer(parent: Parent = None) -> None:
    """Wait for what deferred tasks wait for."""
    from dagbook.cli import components

    components.triggerer(parent)


@app.command("dag-processor")
def dag_processor(parent: Parent = None) -> None:
    """Watch DAGBOOK_DAGS_FOLDER alone, beside schedulers without one."""
    from dagbook.cli import components

    components.dag_processor(parent)


@app.command()
def status() -> None:
    """Tell which components of the engine are alive."""
    from rich.console import Console
    from rich.table import Table

    from dagbook.queries import dags
    from dagbook.services.opening import open_store

    s = settings.read()
    opened = open_store(s)
    try:
        with opened.store.begin() as work:
            found = dags.status(work, s.heartbeat_timeout)
    finally:
        opened.close()
    table = Table("component", "alive", "last seen", "host", "pid", title=f"Dagbook {found.version}, {found.database}")
    for c in found.components:
        table.add_row(c.kind, "yes" if c.alive else "no", f"{c.age or 0:.1f} s ago", c.host, str(c.pid))
    console = Console()
    console.print(table)
    if not any(c.kind == "scheduler" and c.alive for c in found.components):
        console.print("No scheduler is alive, so nothing runs; start one: dagbook standalone (or dagbook scheduler)")


@db.command()
def upgrade() -> None:
    """Bring the schema to this version."""
    from dagbook.services.opening import database_url
    from dagbook.store import migrate

    url, embedded = database_url(settings.read())
    typer.echo(f"the schema is at {migrate.upgrade(url)}")
    if embedded is not None:
        embedded.close()


@db.command()
def check() -> None:
    """Compare the schema with what this version expects; exit code 1 when they differ."""
    from dagbook.services.opening import database_url
    from dagbook.store import migrate

    url, embedded = database_url(settings.read())
    missing = migrate.missing(url)
    differences = [missing] if missing else migrate.check(url)
    if embedded is not None:
        embedded.close()
    for difference in differences:
        typer.echo(difference)
    if differences:
        typer.echo("run: dagbook db upgrade")
        raise typer.Exit(1)
    typer.echo("the schema is as it should be")


def main() -> None:
    try:
        app()
    except DagbookError as e:
        print(f"dagbook: {e}", file=sys.stderr)
        sys.exit(1)
    except ValueError as e:  # a malformed DAGBOOK_* variable
        print(f"dagbook: {e}", file=sys.stderr)
        sys.exit(2)
