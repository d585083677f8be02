"""``%dag VERB …``: finds the verb, turns errors into one line."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from dagbook.errors import DagbookError, Invalid, nearest
from dagbook.notebook.magics import again, cell, look, results, run, schedule
from dagbook.notebook.magics.parser import HelpShown, Verb, split
from dagbook.notebook.magics.session import Session

VERBS: dict[str, Verb] = {v.name: v for v in [*look.VERBS, *run.VERBS, *results.VERBS, *again.VERBS, *schedule.VERBS]}


def overview() -> str:
    verbs = "\n".join(f"  %dag {v.name:<9} {v.summary}" for v in VERBS.values())
    return (
        f"Dagbook: DAGs in this notebook, run by the engine.\n\n  %%dag ID        Make this cell a DAG.\n{verbs}\n\n"
        "%dag VERB --help tells more; so does %%dag --help."
    )


def dispatch(session: Session, line: str) -> Any:
    words = split(line)
    if not words or words[0] in ("help", "-h", "--help"):
        print(VERBS[words[1]].parser.format_help() if words[1:] and words[1] in VERBS else overview())
        return None
    verb = VERBS.get(words[0])
    if verb is None:
        raise Invalid(f"%dag has no verb {words[0]!r}{nearest(words[0], [*VERBS, 'help'])}")
    return verb.act(session, verb.parser.read(words[1:]))


@magics_class
class DagMagics(Magics):
    def __init__(self, shell: Any, session: Session):
        super().__init__(shell)
        self._session = session

    @line_magic
    def dag(self, line: str) -> Any:
        return _in_one_line(lambda: dispatch(self._session, line))

    @no_var_expand
    @cell_magic("dag")
    def dag_cell(self, line: str, body: str) -> None:
        _in_one_line(lambda: cell.define(self._session, line, body))


# `%dag?` and `%%dag?` show these.
DagMagics.dag.__doc__ = overview()
DagMagics.dag_cell.__doc__ = cell.parser().format_help()


def _in_one_line(act: Any) -> Any:
    """No traceback for what the message already explains."""
    try:
        return act()
    except HelpShown as e:
        print(e)
        return None
    except DagbookError as e:
        raise UsageError(str(e)) from None
