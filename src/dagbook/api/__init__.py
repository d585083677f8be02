"""The Jupyter server extensions: REST and events here; ``scheduler`` and ``triggerer`` each supervise a process."""

from __future__ import annotations

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from dagbook.api.extension import DagbookApp

    return [{"module": "dagbook.api", "app": DagbookApp}]
