"""A task's exception as its author wants it: own frames only, at the cell's or file's own lines."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

from dagbook.spec.models import DagSource
from dagbook.worker.load import file_name

_FOREIGN = tuple(str(Path(p)) for p in {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
_OURS = str(Path(__file__).parent.parent)


def describe(error: BaseException, source: DagSource) -> tuple[str, str]:
    """(the whole text for the log, one line for the state's reason)."""
    lines: list[str] = []
    for i, (link, joint) in enumerate(_chain(error)):
        if i:
            lines += ["", joint, ""]
        frames = _own_frames(link, source)
        if frames:
            lines.append("Traceback (most recent call last):")
            lines += frames
        lines += [x.rstrip("\n") for x in traceback.format_exception_only(link)]
    return "\n".join(lines) + "\n", summary(error, source)


def summary(error: BaseException, source: DagSource) -> str:
    text = f"{type(error).__name__}: {error}".strip().splitlines()[0][:500]
    places = _places(error, source)
    return f"{text} ({places[-1][0]}, line {places[-1][1]})" if places else text


def _chain(error: BaseException) -> list[tuple[BaseException, str]]:
    """Oldest first, each with the sentence that joins it to the one before."""
    found: list[tuple[BaseException, str]] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        if link.__cause__ is not None:
            found.append((link, "The above exception was the direct cause of the following exception:"))
            link = link.__cause__
        else:
            found.append((link, "During handling of the above exception, another exception occurred:"))
            link = None if link.__suppress_context__ else link.__context__
    return found[::-1]


def _places(error: BaseException, source: DagSource) -> list[tuple[str, int, str, str]]:
    """(origin, line, function, text) of each frame of the author's."""
    found = []
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == file_name(source):
            origin, line = source.place(frame.lineno or 1)
        elif frame.filename.startswith((_OURS, *_FOREIGN, "<frozen")):
            continue
        else:
            origin, line = frame.filename, frame.lineno or 1
        found.append((origin, line, frame.name, frame.line or ""))
    return found


def _own_frames(error: BaseException, source: DagSource) -> list[str]:
    lines = []
    for origin, line, name, text in _places(error, source):
        lines.append(f"  {origin}, line {line}, in {name}")
        if text:
            lines.append(f"    {text}")
    return lines
