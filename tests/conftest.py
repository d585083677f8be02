"""What several kinds of tests share: real servers, each with everything below a folder of its own."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]


def pytest_collection_modifyitems(items):
    """Modules that share a server stay in one process."""
    import pytest

    for item in items:
        if not item.get_closest_marker("xdist_group") and "unit" not in item.path.parts:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
