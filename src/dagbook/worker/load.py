"""Import a DAG's source in this process and find its DAGs.  Only ever called where user code may run."""

from __future__ import annotations

import linecache
import sys
import traceback
import types
from pathlib import Path

from dagbook import compat
from dagbook.authoring.builder import DAG, collect
from dagbook.authoring.freeze import freeze
from dagbook.authoring.place import MODULE_NAME
from dagbook.errors import Fault, InvalidDag
from dagbook.spec.codec import digest
from dagbook.spec.models import DagSource, DagSpec


def file_name(source: DagSource) -> str:
    return source.path or MODULE_NAME


def load(source: DagSource) -> list[DAG]:
    """Run the module; ``InvalidDag`` says at which of the author's lines it failed."""
    name = file_name(source)
    linecache.cache[name] = (len(source.text), None, source.text.splitlines(keepends=True), name)
    if source.path:
        folder = str(Path(source.path).parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
    module = types.ModuleType("dagbook_dag")
    module.__file__ = source.path or name
    sys.modules[module.__name__] = module
    with compat.spoken(), collect() as found:
        try:
            exec(compile(source.text, name, "exec", dont_inherit=True), module.__dict__)
        except InvalidDag as e:
            raise InvalidDag([_placed(f, source) for f in e.faults]) from e
        except SyntaxError as e:
            raise InvalidDag([Fault(f"SyntaxError: {e.msg}", *source.place(e.lineno or 1))]) from e
        except BaseException as e:
            raise InvalidDag([fault_of(e, source)]) from e
    return found


def load_specs(source: DagSource, default_timezone: str = "UTC") -> list[tuple[DagSpec, str]]:
    """(spec, version digest) of every DAG in the module; all faults of all DAGs at once."""
    specs: list[tuple[DagSpec, str]] = []
    faults: list[Fault] = []
    for dag in load(source):
        try:
            spec = freeze(dag, source, default_timezone)
        except InvalidDag as e:
            faults += e.faults
            continue
        if any(s.dag_id == spec.dag_id for s, _ in specs):
            faults.append(Fault(f"two DAGs have the id {spec.dag_id!r}", *source.place(dag.place[1])))
        specs.append((spec, digest(spec, source)))
    if faults:
        raise InvalidDag(faults)
    return specs


def _placed(fault: Fault, source: DagSource) -> Fault:
    if fault.origin == file_name(source) and fault.line:
        return Fault(fault.message, *source.place(fault.line))
    return fault


def fault_of(error: BaseException, source: DagSource) -> Fault:
    """What user code raised outside a task, at the last line of the author's own module that was running."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file_name(source)]
    text = f"{type(error).__name__}: {error}"
    return Fault(text, *source.place(lines[-1] or 1)) if lines else Fault(text)
