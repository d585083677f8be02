"""What the magics share within one kernel."""

from __future__ import annotations

import time
from typing import Any

from dagbook.client import Api, find
from dagbook.notebook.slicing import Cell, History
from dagbook.spec.models import DagSource

#: Seconds for which the list of DAGs is good enough for completion.
_FRESH = 5.0


class Session:
    """One kernel's way to its engine, found when first needed and again when the server has changed."""

    def __init__(self, shell: Any):
        self.shell = shell
        #: What this kernel's ``%%dag`` cells have deployed, by DAG.
        self.sources: dict[str, DagSource] = {}
        self._api: Api | None = None
        self._names: dict[str, list[str]] = {}
        self._names_at = 0.0

    @property
    def api(self) -> Api:
        server = find()
        if self._api is None or self._api.server != server:
            self._api = Api(server)
        return self._api

    @property
    def history(self) -> History:
        hist = self.shell.history_manager
        raw, parsed = hist.input_hist_raw, hist.input_hist_parsed
        cells = [Cell(n, _aligned(raw[n], parsed[n])) for n in range(1, min(len(raw), len(parsed)))]
        return History(cells, self.shell.user_ns)

    def current_cell(self, body: str) -> Cell:
        """The ``%%dag`` cell that runs now, with its lines where they are in the notebook."""
        raw = self.shell.history_manager.input_hist_raw
        lines = raw[-1].splitlines() if raw else []
        before = next((i for i, line in enumerate(lines) if line.lstrip().startswith("%%dag")), 0)
        return Cell(self.shell.execution_count, "\n" * (before + 1) + body)

    def names(self) -> dict[str, list[str]]:
        """DAG ids with their task ids, for completion; never waits long, never raises."""
        if time.monotonic() - self._names_at > _FRESH:
            self._names_at = time.monotonic()
            try:
                api = Api(find(), timeout=0.5)
                known = self._names
                self._names = {d.dag_id: known.get(d.dag_id, []) for d in api.dags()}
            except Exception:
                return self._names
        return self._names

    def tasks(self, dag_id: str) -> list[str]:
        known = self.names()
        if not known.get(dag_id) and dag_id in known:
            try:
                known[dag_id] = [n.task_id for n in Api(find(), timeout=0.5).dag(dag_id).tasks]
            except Exception:
                return []
        return known.get(dag_id, [])

    def runs(self, dag_id: str) -> list[str]:
        try:
            return [r.run_id for r in Api(find(), timeout=0.5).runs(dag_id)]
        except Exception:
            return []


def _aligned(raw: str, parsed: str) -> str:
    """IPython drops leading blank lines when it reads a cell; line numbers should not."""
    leading = len(raw) - len(raw.lstrip("\n"))
    return "\n" * leading + parsed
