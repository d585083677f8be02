"""Arguments of the magics: errors in one line with the nearest right word, help that never leaves the kernel."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NoReturn

from dagbook.errors import Invalid, nearest


class HelpShown(Exception):
    """``-h`` was given; its text is the argument."""


class Parser(argparse.ArgumentParser):
    def __init__(self, command: str, description: str):
        super().__init__(prog=command, description=description, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        raise Invalid(f"{self.prog}: {message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        raise HelpShown(self.format_help())

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        found, unknown = self.parse_known_args(list(words))
        if unknown:
            options = [o for a in self._actions for o in a.option_strings]
            what = "option" if unknown[0].startswith("-") else "argument"
            near = nearest(unknown[0], options) if what == "option" else ""
            raise Invalid(f"{self.prog} has no {what} {unknown[0]!r}{near}")
        return found

    @property
    def options(self) -> list[str]:
        return [o for a in self._actions for o in a.option_strings]


@dataclass(frozen=True)
class Verb:
    """A sub-command.  ``takes``: what its positional arguments are, for completion: dag, task, run."""

    name: str
    parser: Parser
    act: Callable[..., Any]
    takes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return (self.parser.description or "").splitlines()[0]


def split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as e:
        raise Invalid(f"the line's quotes don't match: {e}") from None


def pair(word: str) -> tuple[str, Any]:
    """``name=value``; the value as JSON where it is that, else as text."""
    name, equals, raw = word.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{word!r} is not name=value")
    try:
        return name, json.loads(raw)
    except ValueError:
        return name, raw


def moment(word: str) -> datetime:
    """An ISO date or instant; without an offset it is naive."""
    try:
        return datetime.fromisoformat(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is no date; write it as 2025-03-01 or 2025-03-01T06:00") from None


def instant(word: str) -> datetime:
    """An aware instant; without an offset it is UTC."""
    found = moment(word)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def day(word: str) -> date:
    return moment(word).date()


def positive(word: str) -> int:
    try:
        value = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{word} must be at least 1")
    return value


def index(word: str) -> tuple[str, int]:
    """``task`` or ``task[3]``: the task id, and which instance of it; -1 for the task as a whole."""
    task, bracket, rest = word.partition("[")
    if not bracket:
        return task, -1
    if not rest.endswith("]") or not rest[:-1].isdigit():
        raise Invalid(f"{word!r} is no task; write task[3] for the fourth instance of a mapped one")
    return task, int(rest[:-1])
