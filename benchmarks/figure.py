"""One measured number, and the median over repeats."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """``floor``: what the machine itself needs for the same, in the same run; ``ratio`` to it; ``spread``: max − min over ``n``."""

    name: str
    value: float
    unit: str
    floor: float | None
    ratio: float | None
    n: int
    spread: float

    def line(self) -> str:
        beside = f"  floor {self.floor:g} {self.unit}, ratio {self.ratio:g}" if self.floor else ""
        return f"{self.name:<28} {self.value:g} {self.unit}{beside}  (n={self.n}, spread {self.spread:g})"


def figure(name: str, values: Sequence[float], unit: str, floors: Sequence[float] = ()) -> Figure:
    value = statistics.median(values)
    floor = statistics.median(floors) if floors else None
    return Figure(
        name,
        round(value, 4),
        unit,
        round(floor, 4) if floor else None,
        round(value / floor, 2) if floor else None,
        len(values),
        round(max(values) - min(values), 4),
    )
