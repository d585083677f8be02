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


DAYS = "from dagbook import *\nfrom datetime import datetime\nwith DAG('days', schedule='@daily', start_date=datetime(2025, 1, 1)):\n    EmptyOperator('t')\n"


@pytest.fixture
def deployed(home, tmp_path):
    """The DAG ``days``, paused, with no scheduler alive."""
    from datetime import UTC, datetime

    from dagbook.commands import deploy
    from dagbook.spec.models import DagSource
    from dagbook.worker.parse import parse

    source = DagSource(DAYS, path=str(tmp_path / "days.py"))
    opened = open_store(Settings(home=home))
    with opened.store.begin() as work:
        work.conn.exec_driver_sql("UPDATE dag SET is_active = false")
        for spec, version in parse(source, 30):
            deploy.from_file(work, spec, version, source, datetime.now(UTC))
    opened.close()


def said(home: Path, *words: str) -> str:
    done = dagbook(home, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(home: Path, *words: str) -> str:
    done = dagbook(home, *words)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_backfills_are_previewed_made_paused_listed_and_cancelled(home, deployed):
    plan = said(home, "backfill", "preview", "days", "2025-01-01", "2025-01-03", "--run-backwards").splitlines()
    assert [line.split("\t")[0] for line in plan] == ["2025-01-03 00:00:00", "2025-01-02 00:00:00", "2025-01-01 00:00:00"]
    assert {line.split("\t")[2] for line in plan} == {"create"}
    made = said(home, "backfill", "create", "days", "2025-01-01", "2025-01-03", "--max-active-runs", "2")
    number = made.split()[1]
    assert made == f"backfill {number} of days: 3 runs\n"
    assert "is paused" in said(home, "backfill", "pause", "days", number)
    assert "\tpaused\t3 queued\t2" in said(home, "backfill", "list", "days")
    assert f"→ dagbook backfill resume days {number}" in said(home, "dags", "why", "days", "--run", "backfill__2025-01-01T00:00:00+00:00")
    assert "is running" in said(home, "backfill", "resume", "days", number)
    assert "is cancelled" in said(home, "backfill", "cancel", "days", number)
    assert "has ended already: cancelled" in refused(home, "backfill", "resume", "days", number)
    assert "'2025' is no day" in refused(home, "backfill", "create", "days", "2025", "2025-01-03")


def test_dags_are_listed_paused_and_explained(home, deployed):
    assert "days\tpaused\t@daily" in said(home, "dags", "list")
    assert "→ dagbook dags unpause days" in said(home, "dags", "why", "days")
    said(home, "dags", "unpause", "days")
    assert "interval" in said(home, "dags", "next", "days")
    run = said(home, "dags", "trigger", "days", "--date", "2025-02-01").strip()
    assert run in said(home, "dags", "runs", "days")
    assert "no scheduler" in said(home, "tasks", "why", "days", "t", "--run", run)
    assert "did you mean 'days'?" in refused(home, "dags", "pause", "dayz")


def test_a_clear_lists_what_it_would_touch(home, deployed):
    assert said(home, "tasks", "clear", "days", "--start-date", "2025-01-01", "--yes") == ""
    assert "say which runs to clear" in refused(home, "tasks", "clear", "days")
    assert "has no run 'nosuch'" in refused(home, "tasks", "clear", "days", "--run", "nosuch")


def test_variables_pools_and_datasets(home):
    said(home, "variables", "set", "region", "eu")
    assert said(home, "variables", "get", "region") == "eu\n"
    assert said(home, "variables", "list") == "region\n"
    assert "did you mean 'region'?" in refused(home, "variables", "get", "regoin")
    said(home, "variables", "delete", "region")
    assert said(home, "variables", "list") == ""
    said(home, "pools", "set", "etl", "4", "--description", "loads")
    assert "etl\t4\t0\t0\tno\tloads" in said(home, "pools", "list")
    said(home, "pools", "set", "etl", "6", "--include-deferred")
    assert "etl\t6\t0\t0\tyes\tloads" in said(home, "pools", "list")
    assert "can't be deleted" in refused(home, "pools", "delete", "default_pool")
    said(home, "pools", "delete", "etl")
    said(home, "datasets", "post", "s3://lake/orders", "--extra", "rows=5")
    assert "s3://lake/orders\t1\t" in said(home, "datasets", "list")
    assert "{'rows': 5}" in said(home, "datasets", "events", "s3://lake/orders")


def test_check_lists_every_fault_of_every_file(home, tmp_path):
    (tmp_path / "good.py").write_text(DAYS)
    (tmp_path / "bad.py").write_text("from dagbook import *\nwith DAG('b'):\n    EmptyOperator('t', trigger_rule='all_sucess')\n")
    done = dagbook(home, "check", str(tmp_path))
    assert done.returncode == 1
    assert "good.py: days" in done.stdout
    assert "bad.py, line 3: task 't': trigger_rule 'all_sucess' is none of" in done.stderr
