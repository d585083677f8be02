"""Write what was decided.  A row that has moved since it was read is left alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from dagbook.decide.transitions import Expand, Move
from dagbook.states import FINISHED
from dagbook.store import plain
from dagbook.store.work import Work

_MOVE = text("""
    UPDATE task_instance ti
    SET state = w.goal, reason = w.reason, not_before = NULL,
        end_date = CASE WHEN w.goal = ANY(:finished) THEN clock_timestamp() ELSE ti.end_date END
    FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:expects AS text[]), CAST(:goals AS text[]),
                CAST(:reasons AS text[]), CAST(:due_bys AS timestamptz[]), CAST(:map_indexes AS int[]))
         AS w(run, task_id, expect, goal, reason, due_by, map_index)
    WHERE ti.run = w.run AND ti.task_id = w.task_id AND ti.state = w.expect
      AND (w.map_index IS NULL OR ti.map_index = w.map_index)
      AND (w.due_by IS NULL OR ti.not_before <= w.due_by)
""")

# What is there already is taken up again or, beyond the count, removed; the rest is made after the model of what is there.
# No elements at all leave one row that says so.
_EXPAND = text("""
    WITH w AS (
        SELECT * FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:counts AS int[]), CAST(:goals AS text[]))
                      AS w(run, task_id, n, goal)
    ), model AS (
        SELECT DISTINCT ON (ti.run, ti.task_id) ti.*, w.n, w.goal FROM task_instance ti JOIN w USING (run, task_id)
        WHERE ti.state = 'none' ORDER BY ti.run, ti.task_id, ti.map_index
    ), placeholder AS (
        DELETE FROM task_instance ti USING model m
        WHERE ti.run = m.run AND ti.task_id = m.task_id AND ti.map_index = -1 AND ti.state = 'none'
    ), surplus AS (
        UPDATE task_instance ti SET state = 'removed', end_date = clock_timestamp(), reason = 'beyond what it is mapped over now'
        FROM model m WHERE ti.run = m.run AND ti.task_id = m.task_id AND ti.map_index >= m.n AND ti.state = 'none'
    ), again AS (
        UPDATE task_instance ti SET state = m.goal, end_date = NULL, reason = NULL
        FROM model m WHERE ti.run = m.run AND ti.task_id = m.task_id AND ti.map_index BETWEEN 0 AND m.n - 1
          AND ti.state IN ('none', 'removed')
    ), stale AS (
        DELETE FROM xcom x USING model m WHERE x.run = m.run AND x.task_id = m.task_id AND x.map_index >= m.n
    )
    INSERT INTO task_instance (run, task_id, map_index, dag_id, logical_date, state, end_date, reason, try_number, max_tries, operator,
                               pool, pool_slots, priority_weight, queue, most_per_dag, most_per_run, callbacks)
    SELECT m.run, m.task_id, i, m.dag_id, m.logical_date, CASE WHEN i < 0 THEN 'skipped' ELSE m.goal END,
           CASE WHEN i < 0 THEN clock_timestamp() END, CASE WHEN i < 0 THEN 'nothing to map over: 0 elements' END,
           h.tries, h.tries + greatest(m.max_tries - m.try_number, 1), m.operator, m.pool, m.pool_slots, m.priority_weight, m.queue,
           m.most_per_dag, m.most_per_run, m.callbacks
    FROM model m, generate_series(CASE WHEN m.n = 0 THEN -1 ELSE 0 END, m.n - 1) AS i,
         LATERAL (SELECT coalesce(max(try_number), 0) AS tries FROM task_instance_history
                  WHERE run = m.run AND task_id = m.task_id AND map_index = i) h
    ON CONFLICT DO NOTHING
""")


def moves(work: Work, decided: Sequence[Move]) -> int:
    """How many instances moved."""
    if not decided:
        return 0
    rows = [(m, i) for m in decided for i in (m.indexes if m.indexes is not None else (None,))]
    return work.conn.execute(
        _MOVE,
        {
            "runs": [m.run for m, _ in rows],
            "task_ids": [m.task_id for m, _ in rows],
            "expects": [m.expect for m, _ in rows],
            "goals": [m.to for m, _ in rows],
            "reasons": [plain.text(m.reason) for m, _ in rows],
            "due_bys": [m.due_by for m, _ in rows],
            "map_indexes": [i for _, i in rows],
            "finished": [s.value for s in FINISHED],
        },
    ).rowcount


def expansions(work: Work, decided: Sequence[Expand]) -> int:
    """How many instances were made."""
    if not decided:
        return 0
    return work.conn.execute(
        _EXPAND,
        {
            "runs": [e.run for e in decided],
            "task_ids": [e.task_id for e in decided],
            "counts": [e.count for e in decided],
            "goals": [e.to for e in decided],
        },
    ).rowcount
