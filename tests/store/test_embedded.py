"""The private PostgreSQL: shared, private, and gone when nobody needs it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from dagbook.errors import DatabaseUnavailable
from dagbook.store import migrate
from dagbook.store.embedded import binaries, open_embedded
from dagbook.store.notify import libpq


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch):
    monkeypatch.setenv("DAGBOOK_POSTGRES_GRACE", "1")


def answers(url: str) -> bool:
    try:
        with psycopg.connect(libpq(url), connect_timeout=2) as conn:
            return conn.execute("SELECT 1").fetchone() == (1,)
    except psycopg.Error:
        return False


def until(check, seconds: float = 40.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


def postmaster(home: Path) -> int:
    return int((home / "postgres/data/postmaster.pid").read_text().split()[0])


def keeper(home: Path) -> int:
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if b"dagbook.store.embedded.keeper" in words and str(home).encode() in words:
            return int(entry.name)
    return 0


def test_it_is_shared_private_and_stops_after_its_last_user(tmp_path):
    one, other = open_embedded(tmp_path), open_embedded(tmp_path)
    assert one.url == other.url
    for path, mode in ((tmp_path / "postgres", 0o700), (tmp_path / "postgres/password", 0o600), (tmp_path / "postgres/run", 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode
    one.close()
    time.sleep(1.5)
    assert answers(other.url)
    other.close()
    until(lambda: not keeper(tmp_path) and not (tmp_path / "postgres/data/postmaster.pid").exists())


def test_it_outlives_the_kill_of_whoever_started_it_and_leaves_with_the_last(tmp_path):
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom dagbook.store.embedded import open_embedded\n"
        "db = open_embedded(Path(sys.argv[1]))\nprint('up', flush=True)\ntime.sleep(100)"
    )
    first = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "up\n"
    mine = open_embedded(tmp_path)
    first.kill()
    first.wait()
    time.sleep(1.5)
    assert answers(mine.url)
    mine.close()
    until(lambda: not keeper(tmp_path))


@pytest.mark.parametrize("victim", [postmaster, keeper])
def test_it_comes_back_when_it_or_its_keeper_is_killed(tmp_path, victim):
    db = open_embedded(tmp_path)
    with psycopg.connect(libpq(db.url)) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 42 AS n")
    before = postmaster(tmp_path)
    os.kill(victim(tmp_path), signal.SIGKILL)
    until(lambda: (tmp_path / "postgres/data/postmaster.pid").exists() and postmaster(tmp_path) != before and answers(db.url))
    with psycopg.connect(libpq(db.url)) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (42,)
    db.close()
    until(lambda: not keeper(tmp_path))


def test_a_deep_home_gets_a_short_socket_folder(tmp_path):
    home = tmp_path / ("deep" * 12) / ("er" * 40)
    db = open_embedded(home)
    assert answers(db.url)
    db.close()


def test_binaries_of_another_version_are_told_apart(tmp_path, monkeypatch):
    db = open_embedded(tmp_path)
    db.close()
    until(lambda: not keeper(tmp_path))
    (tmp_path / "postgres/data/PG_VERSION").write_text("9\n")
    with pytest.raises(DatabaseUnavailable, match="PostgreSQL 9, which made this database, is not installed"):
        open_embedded(tmp_path)
    monkeypatch.setenv("DAGBOOK_POSTGRES_BIN", "/nowhere")
    with pytest.raises(DatabaseUnavailable, match="DAGBOOK_POSTGRES_BIN"):
        binaries.find()


def test_the_schema_is_made_once_and_fits_what_the_code_expects(tmp_path):
    db = open_embedded(tmp_path)
    assert "needs" in (migrate.missing(db.url) or "")
    revision = migrate.upgrade(db.url)
    assert migrate.upgrade(db.url) == revision
    assert migrate.missing(db.url) is None
    assert migrate.check(db.url) == []
    db.close()
