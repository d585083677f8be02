"""Results that others map over: measured where they are made, refused there when they can't be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator
from dagbook.errors import FailTask
from dagbook.spec.models import RETURN_VALUE, MapSource
from dagbook.wire.tasks import Value
from dagbook.worker.values import encoded


def measured(dag: DAG, operator: BaseOperator, value: Any) -> Value:
    """``value`` as it is sent, with the lengths of the parts of it that other tasks map over."""
    own_instances = operator.mapping is not None or operator.mapped_group is not None
    lengths: dict[str, int] = {}
    for reader, source in () if own_instances else _sources(dag, operator.task_id):
        lengths[json.dumps(list(source.path), ensure_ascii=False)] = _length(operator.task_id, value, source, reader)
    return encoded(value, {path: n for path, n in lengths.items() if path != "[]"})


def needed(dag: DAG, task_id: str) -> bool:
    """Something is mapped over the result of ``task_id``, so it must leave one."""
    return any(True for _ in _sources(dag, task_id))


def _sources(dag: DAG, task_id: str) -> Iterator[tuple[str, MapSource]]:
    """(task or group, its source) of everything in the DAG that is mapped over the result of ``task_id``."""
    mappings = [(f"task {o.task_id!r}", o.mapping) for o in dag.operators if o.mapping]
    mappings += [(f"task group {g.group_id!r}", g.mapping) for g in dag.groups if g.mapping]
    todo = [(reader, s) for reader, m in mappings for s in m.freeze().sources]
    while todo:
        reader, source = todo.pop()
        todo.extend((reader, part) for part in source.parts)
        if source.task_id == task_id and source.key == RETURN_VALUE:
            yield reader, source


def _length(task_id: str, value: Any, source: MapSource, reader: str) -> int:
    where = f"the result of task {task_id!r}" + "".join(f"[{step!r}]" for step in source.path)
    for step in source.path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError) as e:
            raise FailTask(f"{reader} is mapped over {where}, but it isn't there: {type(e).__name__}: {e}") from None
    if isinstance(value, str | bytes | set | frozenset) or not hasattr(value, "__len__") or not hasattr(value, "__getitem__"):
        raise FailTask(f"{reader} is mapped over {where}, which must be a list, a tuple or a dict, not {type(value).__name__}")
    return len(value)
