"""What is known of the files in the DAGs folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from dagbook.store import plain
from dagbook.store.work import Work


@dataclass(frozen=True, slots=True)
class FileRow:
    path: str
    mtime: float
    digest: str
    error: str | None
    error_line: int | None
    parsed_at: datetime


def known(work: Work) -> dict[str, FileRow]:
    rows = work.conn.execute(text("SELECT path, mtime, digest, error, error_line, parsed_at FROM dag_file"))
    return {r.path: FileRow(*r) for r in rows}


def record(work: Work, path: str, mtime: float, digest: str, duration: float, error: str | None, line: int | None) -> None:
    work.conn.execute(
        text(
            "INSERT INTO dag_file (path, mtime, digest, duration, parsed_at, error, error_line) "
            "VALUES (:path, :mtime, :digest, :duration, clock_timestamp(), :error, :line) "
            "ON CONFLICT (path) DO UPDATE SET mtime = excluded.mtime, digest = excluded.digest, duration = excluded.duration, "
            "parsed_at = excluded.parsed_at, error = excluded.error, error_line = excluded.error_line"
        ),
        {"path": path, "mtime": mtime, "digest": digest, "duration": duration, "error": plain.text(error), "line": line},
    )


def touch(work: Work, mtimes: Mapping[str, float]) -> None:
    """Files whose content is what it was."""
    work.conn.execute(
        text(
            "UPDATE dag_file f SET mtime = w.mtime FROM unnest(CAST(:paths AS text[]), CAST(:mtimes AS float8[])) "
            "AS w(path, mtime) WHERE f.path = w.path"
        ),
        {"paths": list(mtimes), "mtimes": list(mtimes.values())},
    )


def forget(work: Work, paths: Sequence[str]) -> None:
    work.conn.execute(text("DELETE FROM dag_file WHERE path = ANY(:paths)"), {"paths": list(paths)})
