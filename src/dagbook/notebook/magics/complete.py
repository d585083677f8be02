"""Tab completion after ``%dag``: verbs, options, DAG, task and run ids."""

from __future__ import annotations

from typing import Any

from dagbook.notebook.magics.dag import VERBS
from dagbook.notebook.magics.session import Session


def candidates(session: Session, words: list[str], last: str) -> list[str]:
    """``words``: those before the one being typed, without ``%dag``."""
    if not words:
        return [*VERBS, "help"]
    verb = VERBS.get(words[0])
    if verb is None:
        return list(VERBS) if words == ["help"] else []
    if last.startswith("-"):
        return verb.parser.options
    given = [w for w in words[1:] if not w.startswith("-")]
    if len(given) >= len(verb.takes):
        return session.runs(given[0]) if words[-1] == "--run" and given else []
    match verb.takes[len(given)]:
        case "dag":
            return list(session.names())
        case "task":
            return session.tasks(given[0])
        case _:
            return session.runs(given[0])


class Completer:
    """An IPython ``complete_command`` hook."""

    def __init__(self, session: Session):
        self._session = session

    def __call__(self, _shell: Any, event: Any) -> list[str]:
        words = event.line[: event.text_until_cursor.__len__()].split()[1:] if event.line.strip() else []
        last = "" if event.text_until_cursor.endswith(" ") else (words.pop() if words else "")
        return [c for c in candidates(self._session, words, last) if c.startswith(last)]
