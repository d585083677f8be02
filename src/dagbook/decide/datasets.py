"""Are the datasets that a DAG waits for there? (SEMANTICS §7)"""

from __future__ import annotations

from collections.abc import Collection

from dagbook.spec.models import ALIAS, DatasetCondition


def satisfied(condition: DatasetCondition, names: Collection[str]) -> bool:
    """``names``: datasets and aliases with events that the DAG has not used yet."""
    if condition.kind == "one":
        return condition.name in names
    return (all if condition.kind == "all" else any)(satisfied(p, names) for p in condition.parts)


def lacking(condition: DatasetCondition, names: Collection[str]) -> tuple[str, ...]:
    """What it still waits for, for people: of alternatives, all that are not there."""
    if satisfied(condition, names):
        return ()
    if condition.kind == "one":
        return (condition.name.removeprefix(ALIAS),)
    return tuple(dict.fromkeys(n for p in condition.parts for n in lacking(p, names)))
