"""Run one task instance in this process: arguments, mapping, templates, the body."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator, BashOperator, MappedOver, PythonOperator
from dagbook.decide.expand import positions
from dagbook.errors import DagbookError, SkipTask
from dagbook.spec.models import Expansion, MapSource
from dagbook.wire.tasks import Claimed, TryKey
from dagbook.worker import context as contexts
from dagbook.worker.channel import Channel
from dagbook.worker.results import Results


def execute(dag: DAG, key: TryKey, claimed: Claimed, channel: Channel) -> Any:
    """The task's return value.  Whatever user code raises comes out as it is."""
    operator = dag.get_task(key.task_id)
    context = contexts.build(dag, operator, key, claimed, channel)
    results = Results(channel)
    if operator.mapping is not None:
        _give(operator, _mapped_arguments(operator.mapping, key.map_index, results))
    for name, value in operator.arguments.items():
        setattr(operator, name, contexts.render(results.resolve(value), context))
    token = contexts.current.set(context)
    try:
        if claimed.method is not None:
            return getattr(operator, claimed.method)(context, claimed.event)
        if isinstance(operator, PythonOperator):
            return _call(operator, context)
        if isinstance(operator, BashOperator):
            return _bash(operator)
        return operator.execute(context)
    finally:
        contexts.current.reset(token)


def _mapped_arguments(mapping: MappedOver, index: int, results: Results) -> dict[str, Any]:
    """This instance's element of each expanded argument."""
    sources = {name: results.resolve(v) for name, v in mapping.sources.items()}
    if mapping.kwargs_list is not None:
        chosen = _element(sources[""], index)
        if not isinstance(chosen, dict):
            raise DagbookError(f"expand_kwargs: element {index} is a {type(chosen).__name__}, not a dict of arguments")
        return chosen
    expansion = Expansion("product", tuple(MapSource(name) for name in sources))
    where = positions(expansion, {name: len(v) for name, v in sources.items()}, index)
    return {name: _element(sources[name], i) for name, i in where.items()}


def _element(source: Any, index: int) -> Any:
    return list(source.items())[index] if isinstance(source, dict) else source[index]


def _give(operator: BaseOperator, arguments: dict[str, Any]) -> None:
    if isinstance(operator, PythonOperator):
        operator.op_kwargs = {**operator.op_kwargs, **arguments}
    else:
        for name, value in arguments.items():
            setattr(operator, name, value)


def _call(operator: PythonOperator, context: Mapping[str, Any]) -> Any:
    function = operator.python_callable
    return function(*operator.op_args, **_with_context(function, operator, context))


def _with_context(function: Callable[..., Any], operator: PythonOperator, context: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments, plus the context names that the function declares and the author didn't fill."""
    parameters = inspect.signature(function).parameters
    given = dict(operator.op_kwargs)
    positional = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = {*given, *positional[: len(operator.op_args)]}
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return {**{k: v for k, v in context.items() if k not in taken}, **given}
    return {**{k: context[k] for k in parameters if k in context and k not in taken}, **given}


def _bash(operator: BashOperator) -> str | None:
    """The last line of standard output; exit code 99 skips."""
    last = ""
    process = subprocess.Popen(
        ["bash", "-c", operator.bash_command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, **operator.env} if operator.env else None, text=True, errors="replace",
    )
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.write(line)
        last = line.rstrip("\n")
    code = process.wait()
    if code == 99:
        raise SkipTask("the bash command exited with 99")
    if code != 0:
        raise DagbookError(f"the bash command exited with {code}; its last line was: {last}")
    return last
