"""Where a try's log lies, and reading it in pieces while it grows."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Chunk:
    """``text`` from a byte offset; the next piece begins at ``next_offset``.  ``complete``: no more will come."""

    text: str
    next_offset: int
    complete: bool


_UNSAFE = re.compile(r"[^A-Za-z0-9.\-_+]")


def relative_path(dag_id: str, run_id: str, task_id: str, map_index: int, try_number: int) -> str:
    """Every part is a safe file name of at most 120 bytes; distinct ids stay distinct."""
    parts = [safe(dag_id), safe(run_id), safe(task_id)]
    if map_index >= 0:
        parts.append(str(map_index))
    return "/".join([*parts, f"{try_number}.log"])


def safe(word: str) -> str:
    plain = _UNSAFE.sub("_", word)
    if plain == word and len(word) <= 100 and not word.startswith("."):
        return word
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{plain.lstrip('.')[:100]}~{digest[:12]}"


def read(folder: Path, relative: str, offset: int, complete: bool, limit: int = 1 << 20) -> Chunk:
    """At most ``limit`` bytes from ``offset``; a negative offset counts from the end.  No file yet reads as empty."""
    path = (folder / relative).resolve()
    if not path.is_relative_to(folder.resolve()):
        return Chunk("", 0, complete)
    try:
        with path.open("rb") as f:
            size = f.seek(0, 2)
            start = max(size + offset, 0) if offset < 0 else min(offset, size)
            f.seek(start)
            data = f.read(limit)
    except FileNotFoundError:
        return Chunk("", max(offset, 0), complete)
    end = start + len(data)
    return Chunk(data.decode("utf-8", "replace"), end, complete and end >= size)
