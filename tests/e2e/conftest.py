"""One engine for each module of tests."""

from __future__ import annotations

import pytest
from engines import running_engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with running_engine(tmp_path_factory.mktemp("engine")) as made:
        yield made
