"""The house stays as it was drawn: layers, generated files, and no query without an index behind it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_point_downward():
    run(str(Path(sys.executable).parent / "lint-imports"))


def test_the_front_ends_types_are_those_of_the_api():
    run(sys.executable, "tools/wire_types.py", "--check")


def test_dagbook_imports_nothing_heavy():
    heavy = "sqlalchemy", "pandas", "pyarrow", "jupyter_server", "IPython", "alembic", "numpy"
    code = f"import sys, dagbook; from dagbook import task, DAG; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_modules_stay_small():
    long = {p: n for p in (ROOT / "src").rglob("*.py") if (n := len(p.read_text().splitlines())) > 400}
    assert not long
