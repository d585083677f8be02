"""What a decision may see of its runs, in a few queries however many runs there are."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import text

from dagbook.decide.snapshot import UNMAPPED, Cohort, RunView, TaskView
from dagbook.spec.models import DagSpec, ResultRef
from dagbook.states import RunState, TaskState
from dagbook.store import past
from dagbook.store.due import DueRun
from dagbook.store.work import Work

_COUNTS = text("""
    SELECT run, task_id, state, count(*) AS n, min(map_index) AS first,
           count(*) FILTER (WHERE state IN ('up_for_retry', 'up_for_reschedule') AND not_before <= :now) AS due
    FROM task_instance WHERE run = ANY(:runs) GROUP BY run, task_id, state
""")

_LENGTHS = text("""
    SELECT x.run, x.task_id, x.key, count(*) AS n, min(x.map_index) AS first, max(x.length) AS length,
           (array_agg(x.lengths))[1] AS lengths
    FROM xcom x JOIN unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:keys AS text[])) AS w(run, task_id, key)
      USING (run, task_id, key)
    GROUP BY x.run, x.task_id, x.key
""")

# A mapped branch leaves untaken what all of its instances that succeeded did.
_UNTAKEN = text("""
    SELECT run, task_id, untaken FROM task_instance
    WHERE run = ANY(:runs) AND task_id = ANY(:branches) AND state = 'success'
    GROUP BY run, task_id, untaken
""")

# Indices of a mapped group with the same states and branches taken are one row, however many they are.
_COHORTS = text("""
    SELECT run, grp, states, untaken, array_agg(map_index ORDER BY map_index) AS indexes
    FROM (SELECT ti.run, w.grp, ti.map_index, jsonb_object_agg(ti.task_id, ti.state) AS states,
                 jsonb_object_agg(ti.task_id, ti.untaken) FILTER (WHERE ti.untaken IS NOT NULL) AS untaken
          FROM task_instance ti
          JOIN unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:groups AS text[])) AS w(run, task_id, grp)
            USING (run, task_id)
          WHERE ti.map_index >= 0 GROUP BY ti.run, w.grp, ti.map_index) AS x
    GROUP BY run, grp, states, untaken
""")

Tasks = Mapping[int, Mapping[str, TaskView]]
Specs = Mapping[int, DagSpec]


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
                counts[run][t.task_id],
                expanded=not (t.mapped and (run, t.task_id) in placeholders),
                due=waiting[run, t.task_id],
            )
            for t in spec.tasks
        }
        for run, spec in by_run.items()
    }
    lengths, untaken = _lengths(work, by_run, tasks), _untaken(work, by_run)
    cohorts, waits = _cohorts(work, by_run, tasks), past.waits(work, by_run, tasks)
    return [
        RunView(
            r.id,
            RunState(r.state),
            by_run[r.id],
            tasks[r.id],
            lengths.get(r.id, {}),
            untaken.get(r.id, {}),
            cohorts.get(r.id, {}),
            waits.get(r.id, {}),
            r.timeout_at,
            r.logical_date,
            r.queued_at,
            frozenset(r.missed),
        )
        for r in runs
    ]


def _lengths(work: Work, specs: Specs, tasks: Tasks) -> dict[int, dict[ResultRef, int | None]]:
    """Of the results that undecided tasks map over; a mapped source's length is its number of results."""
    wanted = {
        (run, ref)
        for run, spec in specs.items()
        for t in spec.tasks
        if t.expansion is not None and tasks[run][t.task_id].counts.get(TaskState.NONE)
        for ref in t.expansion.refs
    }
    found: dict[int, dict[ResultRef, int | None]] = defaultdict(dict)
    if not wanted:
        return found
    for run, ref in wanted:
        if specs[run].task(ref[0]).mapped:
            found[run][ref] = 0
    keys = sorted({(run, task_id, key) for run, (task_id, key, _) in wanted})
    rows = work.conn.execute(_LENGTHS, {"runs": [k[0] for k in keys], "task_ids": [k[1] for k in keys], "keys": [k[2] for k in keys]})
    known = {(r.run, r.task_id, r.key): r for r in rows}
    for run, ref in wanted:
        row = known.get((run, ref[0], ref[1]))
        if row is not None:
            whole = row.n if row.first >= 0 else row.length
            found[run][ref] = (row.lengths or {}).get(path_text(ref[2])) if ref[2] else whole
    return found


def path_text(path: Sequence[str | int]) -> str:
    """How a path into a value is written where its length is kept."""
    return json.dumps(list(path), ensure_ascii=False)


def _untaken(work: Work, specs: Specs) -> dict[int, dict[str, frozenset[str]]]:
    branches = {(run, t.task_id) for run, spec in specs.items() for t in spec.tasks if t.branches}
    found: dict[int, dict[str, frozenset[str]]] = defaultdict(dict)
    if not branches:
        return found
    rows = work.conn.execute(_UNTAKEN, {"runs": sorted({b[0] for b in branches}), "branches": sorted({b[1] for b in branches})})
    for r in rows:
        if (r.run, r.task_id) in branches:
            left = frozenset(r.untaken or ())
            found[r.run][r.task_id] = found[r.run].get(r.task_id, left) & left
    return found


def _cohorts(work: Work, specs: Specs, tasks: Tasks) -> dict[int, dict[str, tuple[Cohort, ...]]]:
    """Of mapped groups in which something is undecided."""
    wanted = [
        (run, t.task_id, t.mapped_group)
        for run, spec in specs.items()
        for t in spec.tasks
        if t.mapped_group is not None and _undecided(spec, t.mapped_group, tasks[run])
    ]
    found: dict[int, dict[str, tuple[Cohort, ...]]] = defaultdict(dict)
    if not wanted:
        return found
    rows = work.conn.execute(
        _COHORTS, {"runs": [w[0] for w in wanted], "task_ids": [w[1] for w in wanted], "groups": [w[2] for w in wanted]}
    )
    for r in rows:
        states = {task_id: TaskState(s) for task_id, s in r.states.items()}
        untaken = {task_id: frozenset(left) for task_id, left in (r.untaken or {}).items() if states[task_id] is TaskState.SUCCESS}
        found[r.run][r.grp] = (*found[r.run].get(r.grp, ()), Cohort(tuple(r.indexes), states, untaken))
    return found


def _undecided(spec: DagSpec, group: str, tasks: Mapping[str, TaskView]) -> bool:
    return any(tasks[t.task_id].counts.get(TaskState.NONE) for t in spec.tasks if t.mapped_group == group)
