"""Operators that leave some of their downstreams untaken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dagbook.authoring.operators import BaseOperator, PythonOperator


class BranchPythonOperator(PythonOperator):
    """Its function returns the ids of the tasks or groups, directly downstream, that go on; the others are skipped."""

    branching: ClassVar[str | None] = "branch"


class BaseBranchOperator(BaseOperator):
    """Subclass it and write ``choose_branch(context)``, which returns what ``BranchPythonOperator``'s function does."""

    branching: ClassVar[str | None] = "branch"

    def choose_branch(self, context: Mapping[str, Any]) -> Any:
        raise TypeError(f"operator {type(self).__name__} has no choose_branch(context)")

    def execute(self, context: Mapping[str, Any]) -> Any:
        return self.choose_branch(context)


class ShortCircuitOperator(PythonOperator):
    """When its function returns something false, all that is downstream is skipped.

    With ``ignore_downstream_trigger_rules=False`` only what is directly downstream, and trigger rules decide the rest.
    """

    branching: ClassVar[str | None] = "short_circuit"

    def __init__(self, task_id: str, python_callable: Any, *args: Any, ignore_downstream_trigger_rules: bool = True, **options: Any):
        self.ignore_downstream_trigger_rules = ignore_downstream_trigger_rules
        super().__init__(task_id, python_callable, *args, **options)


class LatestOnlyOperator(BaseOperator):
    """Skip what is directly downstream unless the run is the latest of its schedule; a run by hand goes on."""

    branching: ClassVar[str | None] = "latest"

    def execute(self, context: Mapping[str, Any]) -> bool:
        return bool(context["is_latest"])
