"""Where the boxes of a still picture lie: columns by depth, rows ordered to keep edges short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dagbook.wire.rest import TaskNode

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 52, 56, 18, 12


@dataclass(frozen=True, slots=True)
class Box:
    node: TaskNode
    x: int
    y: int


def layout(nodes: Sequence[TaskNode]) -> tuple[list[Box], int, int]:
    """(boxes, width, height) in pixels; ``nodes`` have upstreams first."""
    depth: dict[str, int] = {}
    for n in nodes:
        depth[n.task_id] = 1 + max((depth[u] for u in n.upstream if u in depth), default=-1)
    columns: list[list[TaskNode]] = [[] for _ in range(max(depth.values(), default=0) + 1)]
    for n in nodes:
        columns[depth[n.task_id]].append(n)
    row: dict[str, float] = {}
    for column in columns:
        column.sort(key=lambda n: _middle([row[u] for u in n.upstream if u in row]))
        for i, n in enumerate(column):
            row[n.task_id] = i - len(column) / 2
    tallest = max((len(c) for c in columns), default=1)
    boxes = []
    for d, column in enumerate(columns):
        top = MARGIN + (tallest - len(column)) * (HEIGHT + GAP_Y) // 2
        for i, n in enumerate(column):
            boxes.append(Box(n, MARGIN + d * (WIDTH + GAP_X), top + i * (HEIGHT + GAP_Y)))
    width = 2 * MARGIN + len(columns) * WIDTH + (len(columns) - 1) * GAP_X
    return boxes, width, 2 * MARGIN + tallest * (HEIGHT + GAP_Y) - GAP_Y


def _middle(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
