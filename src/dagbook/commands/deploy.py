"""Make a version of a DAG the current one."""

from __future__ import annotations

from datetime import datetime

from dagbook.authoring.check import unknown_pools
from dagbook.commands.next_run import start_over
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.models import DagSource, DagSpec
from dagbook.store import versions
from dagbook.store.work import Work


def draft(work: Work, dag_id: str, dags: list[tuple[DagSpec, str]], source: DagSource, author: str) -> str:
    """Keep a notebook's DAG as ``author``'s draft; ``InvalidDag`` unless ``source`` defines exactly ``dag_id``."""
    found = [d.dag_id for d, _ in dags]
    if found != [dag_id]:
        defined = ", ".join(repr(f) for f in found) or "none"
        raise InvalidDag([Fault(f"the cell must define the DAG {dag_id!r} and no other; it defines {defined}", *source.place(1))])
    spec, version = dags[0]
    _check_pools(work, spec)
    versions.deploy(work, spec, version, source, draft=True, author=author)
    return version


def from_file(work: Work, spec: DagSpec, version: str, source: DagSource, now: datetime) -> None:
    """A DAG of the DAGs folder; a new one starts paused, as Airflow's users expect."""
    before = versions.dag_row(work, spec.dag_id)
    if before is not None and before.is_active and not before.is_draft and before.fileloc != source.path:
        raise InvalidDag([Fault(f"DAG {spec.dag_id!r} is defined by {before.fileloc} already; give it another id", source.path, 1)])
    _check_pools(work, spec)
    versions.deploy(work, spec, version, source, draft=False, paused=True)
    start_over(work, spec, now)


def _check_pools(work: Work, spec: DagSpec) -> None:
    if faults := unknown_pools(spec, versions.pools(work)):
        raise InvalidDag(faults)
