"""Where the author wrote something: the nearest frame outside Dagbook."""

from __future__ import annotations

import sys

from dagbook.spec.models import DagSource

#: The file name under which a notebook's slice is compiled.
MODULE_NAME = "<dagbook>"

_PACKAGE = __name__.split(".", maxsplit=1)[0]


def caller() -> tuple[str, int]:
    """(file name as compiled, line) of the author's call now running."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").split(".", 1)[0] != _PACKAGE:
            break
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def authored(where: tuple[str, int], source: DagSource) -> tuple[str, int]:
    """Map a frame of the loaded module to the author's file or cell; other files stay as they are."""
    file, line = where
    return source.place(line) if file in (MODULE_NAME, source.path) else (file, line)
