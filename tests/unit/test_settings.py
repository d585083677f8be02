from __future__ import annotations

import pytest

from dagbook.settings import Settings, read, user_code_environment


def test_variables_are_read_and_empty_ones_are_not():
    assert read({"DAGBOOK_PARALLELISM": "3", "DAGBOOK_HEARTBEAT": ""}).parallelism == 3
    assert read({}).heartbeat == Settings.__dataclass_fields__["heartbeat"].default


def test_a_malformed_variable_is_named():
    with pytest.raises(ValueError, match="DAGBOOK_PARALLELISM='many' is not a number"):
        read({"DAGBOOK_PARALLELISM": "many"})


def test_user_code_gets_no_credentials():
    secret = {"DAGBOOK_DATABASE_URL": "x", "JUPYTER_TOKEN": "x", "JPY_API_TOKEN": "x", "PGPASSWORD": "x", "DAGBOOK_API_TOKEN": "x"}
    assert user_code_environment({"PATH": "/bin", **secret}) == {"PATH": "/bin"}
