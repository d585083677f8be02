"""The extension that runs a triggerer beside this Jupyter server."""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from dagbook.api.extension import TriggererApp

    return [{"module": "dagbook.api.triggerer", "app": TriggererApp}]
