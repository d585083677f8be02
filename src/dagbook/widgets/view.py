"""The live view in a cell's output; what stays behind is a picture that needs no kernel."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from dagbook.widgets import picture
from dagbook.wire.rest import RunEvent, TaskNode

MIME = "application/vnd.dagbook.view.v1+json"
_STATIC = Path(__file__).parent / "static"


@functools.cache
def _widget_class() -> type[Any]:
    import anywidget
    import traitlets

    class RunWidget(anywidget.AnyWidget):
        _esm = _STATIC / "widget.js"
        _css = _STATIC / "widget.css"
        event = traitlets.Dict().tag(sync=True)
        nodes = traitlets.List().tag(sync=True)
        title = traitlets.Unicode().tag(sync=True)
        error = traitlets.Unicode().tag(sync=True)

    return RunWidget


def in_notebook() -> bool:
    """Whether this process speaks to a front end that shows HTML and widgets."""
    ip = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(ip, "kernel", None) is not None


def show_dag(title: str, nodes: Sequence[TaskNode], note: str) -> None:
    """The graph of a DAG that has not run."""
    plain = f"{title}: " + ", ".join(n.task_id for n in nodes) + f" ({note})"
    if not in_notebook():
        print(plain)
        return
    from IPython.display import display

    data = {
        "text/plain": plain,
        "text/html": picture.dag_html(title, nodes, note),
        MIME: {"title": title, "nodes": _json(list(nodes)), "note": note},
    }
    display(data, raw=True)


class LiveView:
    """A run while it goes.  In a terminal it prints a line whenever a task's state changes."""

    def __init__(self, event: RunEvent):
        self._event = event
        self._rich = in_notebook()
        self._widget: Any = None
        self._id = uuid4().hex
        self._told: dict[str, str] = {}

    def show(self) -> None:
        if not self._rich:
            self._tell()
            return
        from IPython.display import display

        self._widget = _widget_class()(event=_json(self._event), title=self._event.detail.run.dag_id)
        bundle = {**self._still(), **self._widget_mime()}
        display(bundle, raw=True, display_id=self._id)

    def update(self, event: RunEvent) -> None:
        self._event = event
        if self._widget is not None:
            self._widget.event = _json(event)
        elif not self._rich:
            self._tell()

    def finish(self) -> None:
        """Leave the last picture where the live view was; the widget's channel is closed."""
        if self._widget is None:
            return
        from IPython.display import update_display

        update_display(self._still(), display_id=self._id, raw=True)
        self._widget.close()
        self._widget = None

    def _still(self) -> dict[str, Any]:
        return {
            "text/plain": picture.run_text(self._event.detail),
            "text/html": picture.run_html(self._event),
            MIME: {"event": _json(self._event)},
        }

    def _widget_mime(self) -> dict[str, Any]:
        data, _ = self._widget._repr_mimebundle_() or ({}, {})
        return {k: v for k, v in dict(data).items() if k != "text/plain"}

    def _tell(self) -> None:
        for t in self._event.detail.tasks:
            words = f"{t.state} {sorted(t.counts.items())}" if t.expanded is not None else str(t.state)
            if t.state != "none" and self._told.get(t.task_id) != words:
                self._told[t.task_id] = words
                print(f"{t.task_id}: {picture.task_words(t, self._event.detail.now)}")


def _json(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value))
