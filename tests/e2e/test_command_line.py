"""``dagbook``: each command in a process of its own, as a person or a unit file would start it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dagbook.services.opening import open_store
from dagbook.settings import Settings
from dagbook.store.notify import libpq

DAGBOOK = [sys.executable, "-m", "dagbook"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The embedded database stays up for the module."""
    folder = tmp_path_factory.mktemp("home")
    opened = open_store(Settings(home=folder))
    yield folder
    opened.close()


def dagbook(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("DAGBOOK_")} | {"DAGBOOK_HOME": str(home), "COLUMNS": "200"} | more
    return subprocess.run([*DAGBOOK, *words], check=False, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture
def external(home):
    """A second database on the embedded server, known by its URL only, with no tables in it."""
    opened = open_store(Settings(home=home))
    with psycopg.connect(libpq(opened.store.url), autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS other")
        conn.execute("CREATE DATABASE other")
    opened.close()
    return opened.store.url.replace("/dagbook?", "/other?")


def test_status_says_that_no_scheduler_is_alive_and_how_to_start_one(home):
    done = dagbook(home, "status")
    assert done.returncode == 0, done.stderr
    assert "No scheduler is alive" in done.stdout
    assert "dagbook standalone" in done.stdout


def test_a_database_of_yours_is_upgraded_only_when_you_say_so(home, external):
    url = {"DAGBOOK_DATABASE_URL": external}
    status = dagbook(home, "status", **url)
    assert status.returncode == 1
    assert "dagbook db upgrade" in status.stderr
    assert "Traceback" not in status.stderr
    check = dagbook(home, "db", "check", **url)
    assert check.returncode == 1
    assert "run: dagbook db upgrade" in check.stdout
    assert dagbook(home, "db", "upgrade", **url).returncode == 0
    again = dagbook(home, "db", "upgrade", **url)
    assert again.returncode == 0, again.stderr
    assert dagbook(home, "db", "check", **url).stdout == "the schema is as it should be\n"


def test_db_check_names_a_column_that_somebody_has_dropped(home, external):
    url = {"DAGBOOK_DATABASE_URL": external}
    dagbook(home, "db", "upgrade", **url)
    with psycopg.connect(libpq(external), autocommit=True) as conn:
        conn.execute("ALTER TABLE dagbook.dag_run DROP COLUMN reason")
    check = dagbook(home, "db", "check", **url)
    assert check.returncode == 1
    assert "reason" in check.stdout
    assert "dag_run" in check.stdout


@pytest.mark.parametrize("words", [("status",), ("db", "check"), ("db", "upgrade")])
def test_a_database_that_does_not_answer_is_one_line(home, words):
    done = dagbook(home, *words, DAGBOOK_DATABASE_URL="postgresql+psycopg://nobody:secret@127.0.0.1:9/none")
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "127.0.0.1" in done.stderr
    assert "secret" not in done.stderr


def test_a_malformed_setting_is_named(home):
    done = dagbook(home, "status", DAGBOOK_PARALLELISM="many")
    assert done.returncode == 2
    assert done.stderr == "dagbook: DAGBOOK_PARALLELISM='many' is not a number\n"


URLS = ["garbage", "postgres://u:secret@127.0.0.1/x", "mysql://u:secret@127.0.0.1/x", "postgresql+psycopg://u:secret@h:port/x"]


@pytest.mark.parametrize("url", URLS)
def test_a_url_that_is_none_shows_what_one_looks_like(home, url):
    done = dagbook(home, "status", DAGBOOK_DATABASE_URL=url)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "postgresql+psycopg://" in done.stderr
    assert "secret" not in done.stderr
