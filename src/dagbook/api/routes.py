"""Which path is whose."""

from __future__ import annotations

from typing import Any

from dagbook.api.handlers import again, dags, datasets, events, runs, why

_ID = r"([^/]+)"
_API = r"/dagbook/api"


def routes() -> list[tuple[str, Any]]:
    dag = rf"{_API}/dags/{_ID}"
    run = rf"{dag}/runs/{_ID}"
    task = rf"{run}/tasks/{_ID}"
    return [
        (rf"{_API}/status", dags.StatusHandler),
        (rf"{_API}/import-errors", dags.ImportErrorsHandler),
        (rf"{_API}/events", events.EventsHandler),
        (rf"{_API}/datasets", datasets.DatasetsHandler),
        (rf"{_API}/datasets/events", datasets.DatasetEventsHandler),
        (rf"{_API}/dags", dags.DagsHandler),
        (dag, dags.DagHandler),
        (rf"{dag}/versions", dags.VersionsHandler),
        (rf"{dag}/why", why.DagWhyHandler),
        (rf"{run}/why", why.RunWhyHandler),
        (rf"{task}/why", why.TaskWhyHandler),
        (rf"{dag}/clear", again.ClearHandler),
        (rf"{dag}/backfills", again.BackfillsHandler),
        (rf"{dag}/backfills/preview", again.BackfillPreviewHandler),
        (rf"{dag}/backfills/([0-9]{{1,18}})", again.BackfillHandler),
        (rf"{dag}/runs", runs.RunsHandler),
        (run, runs.RunHandler),
        (rf"{run}/cancel", runs.CancelHandler),
        (task, runs.InstancesHandler),
        (rf"{task}/logs", runs.LogsHandler),
        (rf"{task}/xcom", runs.XComHandler),
    ]
