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
                CAST(:reasons AS text[]), CAST(:due_bys AS timestamptz[]))
         AS w(run, task_id, expect, goal, reason, due_by)
    WHERE ti.run = w.run AND ti.task_id = w.task_id AND ti.state = w.expect
      AND (w.due_by IS NULL OR ti.not_before <= w.due_by)
""")

_EXPAND = text("""
    WITH w AS (
        SELECT * FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:counts AS int[])) AS w(run, task_id, n)
    ), gone AS (
        DELETE FROM task_instance ti USING w
        WHERE ti.run = w.run AND ti.task_id = w.task_id AND ti.map_index = -1 AND ti.state = 'none'
        RETURNING ti.*, w.n
    )
    INSERT INTO task_instance (run, task_id, map_index, dag_id, logical_date, state, try_number, max_tries, operator,
                               pool, pool_slots, priority_weight, queue)
    SELECT g.run, g.task_id, i, g.dag_id, g.logical_date, 'scheduled', h.tries, h.tries + g.max_tries - g.try_number,
           g.operator, g.pool, g.pool_slots, g.priority_weight, g.queue
    FROM gone g, generate_series(0, g.n - 1) AS i,
         LATERAL (SELECT coalesce(max(try_number), 0) AS tries FROM task_instance_history
                  WHERE run = g.run AND task_id = g.task_id AND map_index = i) h
""")


def moves(work: Work, decided: Sequence[Move]) -> int:
    """How many instances moved."""
    if not decided:
        return 0
    return work.conn.execute(_MOVE, {
        "runs": [m.run for m in decided], "task_ids": [m.task_id for m in decided], "expects": [m.expect for m in decided],
        "goals": [m.to for m in decided], "reasons": [plain.text(m.reason) for m in decided],
        "due_bys": [m.due_by for m in decided], "finished": [s.value for s in FINISHED],
    }).rowcount


def expansions(work: Work, decided: Sequence[Expand]) -> int:
    """How many instances were made."""
    if not decided:
        return 0
    return work.conn.execute(_EXPAND, {
        "runs": [e.run for e in decided], "task_ids": [e.task_id for e in decided], "counts": [e.count for e in decided],
    }).rowcount
