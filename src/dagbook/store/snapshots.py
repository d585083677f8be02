"""What a decision may see of its runs, in two queries however many runs there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import text

from dagbook.decide.snapshot import UNMAPPED, RunView, TaskView
from dagbook.spec.models import DagSpec
from dagbook.states import RunState, TaskState
from dagbook.store.due import DueRun
from dagbook.store.work import Work

_COUNTS = text("""
    SELECT run, task_id, state, count(*) AS n, min(map_index) AS first,
           count(*) FILTER (WHERE state IN ('up_for_retry', 'up_for_reschedule') AND not_before <= :now) AS due
    FROM task_instance WHERE run = ANY(:runs) GROUP BY run, task_id, state
""")

_LENGTHS = text("""
    SELECT x.run, x.task_id, x.key, count(*) AS n, min(x.map_index) AS first, max(x.length) AS length
    FROM xcom x JOIN unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:keys AS text[])) AS w(run, task_id, key)
      USING (run, task_id, key)
    GROUP BY x.run, x.task_id, x.key
""")


def take(work: Work, runs: Sequence[DueRun], specs: Mapping[str, DagSpec], now: datetime) -> list[RunView]:
    counts: dict[int, dict[str, dict[TaskState, int]]] = defaultdict(lambda: defaultdict(dict))
    waiting: dict[tuple[int, str], int] = defaultdict(int)
    placeholders: set[tuple[int, str]] = set()
    for r in work.conn.execute(_COUNTS, {"runs": [r.id for r in runs], "now": now}):
        counts[r.run][r.task_id][TaskState(r.state)] = r.n
        waiting[r.run, r.task_id] += r.due
        if r.first == UNMAPPED:
            placeholders.add((r.run, r.task_id))
    by_run = {r.id: specs[r.version] for r in runs}
    tasks = {
        run: {
            t.task_id: TaskView(
                counts[run][t.task_id], expanded=not (t.mapped and (run, t.task_id) in placeholders),
                due=waiting[run, t.task_id],
            )
            for t in spec.tasks
        }
        for run, spec in by_run.items()
    }
    lengths = _lengths(work, runs, by_run, tasks)
    return [
        RunView(r.id, RunState(r.state), by_run[r.id], tasks[r.id], lengths.get(r.id, {})) for r in runs
    ]


def _lengths(
    work: Work, runs: Sequence[DueRun], specs: Mapping[int, DagSpec], tasks: Mapping[int, Mapping[str, TaskView]]
) -> dict[int, dict[tuple[str, str], int | None]]:
    """Of the results that tasks not yet expanded map over; a mapped source's length is its number of results."""
    wanted = [
        (r.id, s.task_id, s.key)
        for r in runs
        for t in specs[r.id].tasks
        if t.expansion is not None and not tasks[r.id][t.task_id].expanded
        for s in t.expansion.sources
        if s.task_id is not None
    ]
    found: dict[int, dict[tuple[str, str], int | None]] = defaultdict(dict)
    if not wanted:
        return found
    for run, task_id, key in wanted:
        if specs[run].task(task_id).mapped:
            found[run][task_id, key] = 0
    rows = work.conn.execute(
        _LENGTHS, {"runs": [w[0] for w in wanted], "task_ids": [w[1] for w in wanted], "keys": [w[2] for w in wanted]}
    )
    for r in rows:
        found[r.run][r.task_id, r.key] = r.n if r.first >= 0 else r.length
    return found
