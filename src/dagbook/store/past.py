"""depends_on_past: what the run before says about a run's tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from sqlalchemy import text

from dagbook.decide.snapshot import TaskView
from dagbook.spec.models import DagSpec, TaskSpec
from dagbook.states import TaskState
from dagbook.store import due
from dagbook.store.work import Work

_BEFORE = text("""
    SELECT r.id AS run, p.id AS before, p.run_id, p.state
    FROM dag_run r, LATERAL (SELECT id, run_id, state FROM dag_run p WHERE p.dag_id = r.dag_id AND p.logical_date < r.logical_date
                             ORDER BY p.logical_date DESC, p.id DESC LIMIT 1) p
    WHERE r.id = ANY(:runs)
""")

_STATES = text("""
    SELECT run, task_id, state, count(*) AS n FROM task_instance
    WHERE run = ANY(:runs) AND task_id = ANY(:tasks) AND state <> 'removed' GROUP BY run, task_id, state
""")

_AFTER = text("""
    SELECT n.id FROM dag_run r, LATERAL (SELECT id FROM dag_run n WHERE n.dag_id = r.dag_id AND n.logical_date > r.logical_date
                                         AND n.state = 'running' ORDER BY n.logical_date, n.id LIMIT 1) n
    WHERE r.id = ANY(:runs)
""")

_FINE = {"success", "skipped"}


def waits(work: Work, specs: Mapping[int, DagSpec], tasks: Mapping[int, Mapping[str, TaskView]]) -> dict[int, dict[str, str]]:
    """Run → task → why it waits for the run before; tasks that needn't wait are left out."""
    asking = {
        run: [t for t in spec.tasks if t.depends_on_past and tasks[run][t.task_id].counts.get(TaskState.NONE)]
        for run, spec in specs.items()
    }
    runs = [run for run, found in asking.items() if found]
    if not runs:
        return {}
    before = {r.run: r for r in work.conn.execute(_BEFORE, {"runs": runs})}
    names = sorted({name for run in runs for t in asking[run] for name in _looked_at(t, specs[run])})
    states: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for r in work.conn.execute(_STATES, {"runs": [b.before for b in before.values()], "tasks": names}):
        states[r.run, r.task_id][r.state] = r.n
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for run, b in before.items():
        for task in asking[run]:
            for name in _looked_at(task, specs[run]):
                held = _held(states.get((b.before, name), {}), b.state)
                if held is not None:
                    found[run].setdefault(task.task_id, f"depends_on_past: {name!r} of the run before, {b.run_id!r}, is {held}")
    return found


def _looked_at(task: TaskSpec, spec: DagSpec) -> list[str]:
    """Itself, and with wait_for_downstream what is directly downstream of it."""
    below = [t.task_id for t in spec.tasks if task.task_id in t.upstream] if task.wait_for_downstream else []
    return [task.task_id, *below]


def _held(states: Mapping[str, int], run_state: str) -> str | None:
    """The state that holds it up; a task that the run before did not have holds nothing up, once that run has started."""
    if not states:
        return "not started" if run_state == "queued" else None
    return next((s for s in sorted(states) if s not in _FINE), None)


def wake_next(work: Work, runs: list[int]) -> None:
    """The runs after ``runs`` may go on."""
    if runs:
        due.put(work, list(work.conn.execute(_AFTER, {"runs": runs}).scalars()))
