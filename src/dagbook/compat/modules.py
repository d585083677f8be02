"""Modules by the name of ``airflow`` that hold Dagbook's own things."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from dagbook.compat.names import HOMES, instead
from dagbook.errors import DagbookError

_ROOT = "airflow"


class NoCounterpart(DagbookError):
    """Names imported from Airflow that Dagbook has nothing for; the message lists all of them and what to use."""

    code = "no_counterpart"


class Missing:
    """Stands for a name without counterpart: importing it harms nothing, using it says what to use instead."""

    def __init__(self, name: str, asked: list[str]):
        self._name, self._asked = name, asked

    def _refuse(self) -> NoReturn:
        listed = "".join(f"\n  {name}: {instead(name)}" for name in dict.fromkeys((self._name, *self._asked)))
        raise NoCounterpart(f"{self._name} has no counterpart in Dagbook; of the names that are imported, that is so for:{listed}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._refuse()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self._name}.{name}", self._asked)

    # Annotations use types without asking anything of them.
    def __getitem__(self, item: Any) -> Missing:
        return self

    def __or__(self, other: Any) -> Missing:
        return self

    __ror__ = __or__


class _Module(ModuleType):
    """Its names are found when they are first asked for."""

    _asked: list[str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        home = HOMES.get(self.__name__, {}).get(name)
        if home is None:
            full = f"{self.__name__}.{name}"
            if any(known == full or known.startswith(f"{full}.") for known in HOMES):
                return importlib.import_module(full)
            self._asked.append(full)
            return Missing(full, self._asked)
        module, _, attribute = home.partition(":")
        value = getattr(importlib.import_module(module), attribute)
        setattr(self, name, value)
        return value


class _Finder(MetaPathFinder, Loader):
    def __init__(self) -> None:
        #: Names without counterpart, in the order in which they were asked for.
        self.asked: list[str] = []

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname.partition(".")[0] != _ROOT:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made = _Module(spec.name)
        made._asked = self.asked
        made.__all__ = list(HOMES.get(spec.name, ()))  # type: ignore[attr-defined]
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs: names are found when they are asked for."""


def install() -> None:
    """For good: in processes whose only work is to run tasks, which may import inside their functions."""
    if not _installed():
        _take_out()
        sys.meta_path.insert(0, _Finder())


@contextmanager
def spoken() -> Iterator[None]:
    """Airflow's words are understood inside the block; an Airflow that is really installed is back after it."""
    if _installed():
        yield
        return
    real = _take_out()
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _take_out()
        sys.modules.update(real)


def _installed() -> bool:
    return any(isinstance(f, _Finder) for f in sys.meta_path)


def _take_out() -> dict[str, ModuleType]:
    names = [n for n in sys.modules if n.partition(".")[0] == _ROOT]
    return {n: sys.modules.pop(n) for n in names}
