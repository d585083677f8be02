"""A backfill as a Python object."""

from __future__ import annotations

import time
from html import escape
from typing import Literal

from dagbook.client import Api
from dagbook.notebook.runs import Run
from dagbook.widgets.picture import LOOKS
from dagbook.widgets.view import in_notebook
from dagbook.wire.rest import BackfillDetail

_EVERY = 0.5
_ENDED = ("completed", "cancelled")


class Backfill:
    """Runs of one DAG over a range of days; the engine carries it out, whether or not anybody watches."""

    def __init__(self, api: Api, detail: BackfillDetail):
        self._api, self._detail = api, detail

    @property
    def state(self) -> str:
        return self.refresh()._detail.state

    @property
    def counts(self) -> dict[str, int]:
        """Runs by state."""
        return dict(self._detail.counts)

    @property
    def runs(self) -> list[Run]:
        """Oldest day first."""
        return [Run(self._api, self._api.run(r.dag_id, r.run_id)) for r in self.refresh()._detail.runs]

    def pause(self) -> Backfill:
        """Start no more of its runs; those that have started go on."""
        return self._change("paused")

    def resume(self) -> Backfill:
        return self._change("running")

    def cancel(self) -> Backfill:
        """Stop what runs of it, and never start the rest."""
        return self._change("cancelled")

    def _change(self, state: Literal["paused", "running", "cancelled"]) -> Backfill:
        self._detail = self._api.change_backfill(self._detail.dag_id, self._detail.id, state)
        return self

    def refresh(self) -> Backfill:
        self._detail = self._api.one_backfill(self._detail.dag_id, self._detail.id)
        return self

    def wait(self, timeout: float | None = None) -> Backfill:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.state not in _ENDED:
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the backfill of {self._detail.dag_id!r} is {self._detail.state} after {timeout:g} s")
            time.sleep(_EVERY)
        return self

    def watch(self) -> Backfill:
        """Show its days live until all have ended."""
        if not in_notebook():
            return self.wait()
        from IPython.display import display

        handle = display(self, display_id=True)
        before = ""
        while self.state not in _ENDED:
            if (now := repr(self)) != before:
                before = now
                handle.update(self)
            time.sleep(_EVERY)
        handle.update(self)
        return self

    def __repr__(self) -> str:
        d = self._detail
        counts = ", ".join(f"{n} {s}" for s, n in sorted(d.counts.items())) or "nothing to run: every day has a run already"
        days = " ".join(f"{r.logical_date:%m-%d}{LOOKS.get(r.state, ('', '◌'))[1]}" for r in d.runs)
        return f"Backfill {d.dag_id} {d.start} … {d.end}: {d.state}; {counts}\n{days}"

    def _repr_html_(self) -> str:
        d = self._detail
        cells = "".join(
            f"<div title='{escape(r.run_id)}: {escape(r.state)}' style='border:1px solid {LOOKS.get(r.state, ('#8c959f', ''))[0]};"
            f"border-radius:4px;padding:2px 8px;color:{LOOKS.get(r.state, ('#8c959f', ''))[0]}'>"
            f"{LOOKS.get(r.state, ('', '◌'))[1]} {r.logical_date:%Y-%m-%d}</div>"
            for r in d.runs
        )
        done = sum(n for s, n in d.counts.items() if s in ("success", "failed"))
        return (
            f"<div><b>{escape(d.dag_id)}</b> backfill {d.start} … {d.end}: {escape(d.state)}, {done} of {d.total} runs done</div>"
            f"<div style='display:flex;flex-wrap:wrap;gap:4px;margin-top:6px'>{cells}</div>"
        )
