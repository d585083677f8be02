"""A still picture of a run or of a DAG: HTML with SVG, no script; and the same in a few lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from dagbook.states import TaskState
from dagbook.widgets.layout import HEIGHT, WIDTH, Box, layout
from dagbook.wire.rest import RunDetail, RunEvent, TaskNode, TaskProgress

_S = TaskState
#: (colour, sign): readable on light and dark, and told apart without colour.
LOOKS: dict[str, tuple[str, str]] = {
    _S.NONE: ("#8c959f", "○"),
    _S.SCHEDULED: ("#8c959f", "◔"),
    _S.QUEUED: ("#9a6700", "◑"),
    _S.RUNNING: ("#0969da", "▶"),
    _S.DEFERRED: ("#8250df", "⏸"),
    _S.UP_FOR_RESCHEDULE: ("#9a6700", "↻"),
    _S.UP_FOR_RETRY: ("#bc4c00", "↻"),
    _S.RESTARTING: ("#bc4c00", "↻"),
    _S.SUCCESS: ("#1a7f37", "✔"),
    _S.FAILED: ("#cf222e", "✘"),
    _S.SKIPPED: ("#bf3989", "⤼"),
    _S.UPSTREAM_FAILED: ("#bc4c00", "⚠"),
    _S.REMOVED: ("#8c959f", "–"),
}
_CSS = (
    "font:13px/1.4 system-ui,sans-serif;color:var(--jp-ui-font-color1,#24292f);background:var(--jp-layout-color1,#fff);"
    "border:1px solid var(--jp-border-color2,#d0d7de);border-radius:6px;padding:8px 12px;overflow:auto"
)
_LOG_CSS = "margin:8px 0 0;max-height:16em;overflow:auto;white-space:pre-wrap;font:12px/1.4 ui-monospace,monospace"
_NONE_YET = TaskProgress("", _S.NONE, {}, None, None, None, 0)


def run_html(event: RunEvent) -> str:
    d = event.detail
    colour, sign = LOOKS.get(d.run.state, LOOKS[_S.NONE])
    head = (
        f'<div><b>{escape(d.run.dag_id)}</b> <span style="color:{colour};font-weight:600">{sign} {escape(d.run.state)}</span> '
        f"<span style='opacity:.75'>{escape(_facts(d))}</span></div>"
    )
    log = ""
    if event.log_tail.strip() and event.log_task:
        log = f'<pre style="{_LOG_CSS}"><b>{escape(event.log_task)}</b>\n{escape(_readable(event.log_tail))}</pre>'
    return f'<div class="dagbook-picture" style="{_CSS}">{head}{_svg(d.nodes, d.tasks)}{log}</div>'


def dag_html(title: str, nodes: Sequence[TaskNode], note: str) -> str:
    head = f"<div><b>{escape(title)}</b> <span style='opacity:.75'>{escape(note)}</span></div>"
    return f'<div class="dagbook-picture" style="{_CSS}">{head}{_svg(nodes, ())}</div>'


def run_text(d: RunDetail) -> str:
    """One line for the run, one for each task that says something."""
    sign = LOOKS.get(d.run.state, LOOKS[_S.NONE])[1]
    lines = [f"{sign} {d.run.dag_id} {d.run.state}: {_facts(d)}"]
    for t in d.tasks:
        reason = f"  {t.reason}" if t.reason and t.state != _S.SUCCESS else ""
        lines.append(f"  {LOOKS[t.state][1]} {t.task_id}: {task_words(t, d.now)}{reason}")
    return "\n".join(lines)


def task_words(t: TaskProgress, now: datetime) -> str:
    """State, counts of a mapped task's instances, and how long it took or has taken."""
    if t.expanded is not None:
        counts = ", ".join(f"{n} {state}" for state, n in sorted(t.counts.items(), key=lambda c: -c[1]))
        words = counts or "0 instances"
    else:
        words = str(t.state)
    took = _seconds(t.start_date, t.end_date or (now if t.state == _S.RUNNING else None))
    return f"{words}, {took}" if took else words


def _facts(d: RunDetail) -> str:
    took = _seconds(d.run.start_date, d.run.end_date or d.now)
    parts = [d.run.run_id, *([took] if took else []), *([d.run.reason] if d.run.reason else [])]
    return " · ".join(parts)


def _seconds(start: datetime | None, end: datetime | None) -> str:
    if start is None or end is None:
        return ""
    seconds = max((end - start).total_seconds(), 0.0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _readable(text: str) -> str:
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def _svg(nodes: Sequence[TaskNode], tasks: Sequence[TaskProgress]) -> str:
    boxes, width, height = layout(nodes)
    progress = {t.task_id: t for t in tasks}
    at = {b.node.task_id: b for b in boxes}
    edges = "".join(_edge(at[u], b) for b in boxes for u in b.node.upstream if u in at)
    drawn = "".join(_box(b, progress.get(b.node.task_id, _NONE_YET)) for b in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="graph of {len(boxes)} tasks" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="display:block;margin-top:6px">{edges}{drawn}</svg>'
    )


def _edge(a: Box, b: Box) -> str:
    x1, y1, x2, y2 = a.x + WIDTH, a.y + HEIGHT // 2, b.x, b.y + HEIGHT // 2
    bend = max((x2 - x1) // 2, 20)
    return f'<path d="M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}" fill="none" stroke="#8c959f" stroke-width="1.5"/>'


def _box(b: Box, t: TaskProgress) -> str:
    colour, sign = LOOKS[t.state]
    stack = ""
    if b.node.mapped:
        stack = f'<rect x="{b.x + 4}" y="{b.y + 4}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="none" stroke="{colour}" opacity=".5"/>'
    words = "" if t is _NONE_YET else f"{t.state}" if t.expanded is None else _counts(t)
    return (
        f"<g>{stack}<title>{escape(b.node.task_id)}: {escape(t.reason or t.state)}</title>"
        f'<rect x="{b.x}" y="{b.y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="var(--jp-layout-color1,#fff)" stroke="{colour}" '
        f'stroke-width="1.5"/><rect x="{b.x}" y="{b.y}" width="5" height="{HEIGHT}" rx="2" fill="{colour}"/>'
        f'<text x="{b.x + 14}" y="{b.y + 21}" font-size="13" font-weight="600" fill="currentColor">{escape(_cut(b.node.task_id))}</text>'
        f'<text x="{b.x + 14}" y="{b.y + 39}" font-size="11.5" fill="{colour}">{sign} {escape(words or b.node.operator)}</text></g>'
    )


def _counts(t: TaskProgress) -> str:
    return "  ".join(f"{n} {LOOKS[state][1]}" for state, n in sorted(t.counts.items(), key=lambda c: -c[1])) or "0 instances"


def _cut(word: str) -> str:
    return word if len(word) <= 23 else word[:22] + "…"
