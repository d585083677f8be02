"""Run one task instance in this process: arguments, mapping, templates, the body."""

from __future__ import annotations

import copy
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dagbook.authoring.branching import LatestOnlyOperator
from dagbook.authoring.builder import DAG
from dagbook.authoring.operators import BaseOperator, BashOperator, PythonOperator
from dagbook.authoring.sensors import BaseSensorOperator, PythonSensor
from dagbook.authoring.taskflow import BashFunctionOperator
from dagbook.errors import DagbookError, SkipTask
from dagbook.wire.tasks import Claimed, DatasetNews, TryKey, Value
from dagbook.worker import branching, mapped, sensing
from dagbook.worker import context as contexts
from dagbook.worker.channel import Channel
from dagbook.worker.results import Results
from dagbook.worker.templates import render


@dataclass(frozen=True)
class Outcome:
    """What a task leaves when it succeeds."""

    result: Value | None = None
    label: str | None = None
    untaken: list[str] | None = None
    news: list[DatasetNews] = field(default_factory=list)


def execute(dag: DAG, key: TryKey, claimed: Claimed, channel: Channel) -> Outcome:
    """Whatever user code raises comes out as it is."""
    operator = copy.copy(dag.get_task(key.task_id))
    results = Results(channel, operator, key.map_index)
    context = contexts.build(dag, operator, key, claimed, channel)
    if operator.mapping is not None:
        chosen = results.chosen(operator.mapping)
        if operator.fixed is None:
            operator.op_kwargs = {**operator.op_kwargs, **chosen}
        else:
            operator = operator.unmapped(chosen)
            context["task"] = operator
    for name, value in operator.arguments.items():
        setattr(operator, name, render(results.resolve(value), context, dag))
    token = contexts.current.set(context)
    try:
        for call in as_functions(operator.options["on_execute_callback"]):
            call(context)
        value = _body(operator, context, claimed)
    finally:
        contexts.current.reset(token)
    return _outcome(dag, operator, context, value)


def as_functions(given: Any) -> list[Callable[[Any], Any]]:
    return list(given) if isinstance(given, list | tuple) else [given] if given is not None else []


def _body(operator: BaseOperator, context: Mapping[str, Any], claimed: Claimed) -> Any:
    if claimed.method not in (None, "execute"):
        return getattr(operator, claimed.method or "")(context, claimed.event)
    match operator:
        case LatestOnlyOperator():
            return contexts.is_latest(operator.dag, context)
        case PythonSensor():
            return sensing.wait(operator, lambda: _call(operator, context), claimed.started_at)
        case BaseSensorOperator() if type(operator).execute is BaseOperator.execute:
            return sensing.wait(operator, lambda: operator.poke(context), claimed.started_at)
        case BashFunctionOperator():
            operator.bash_command = str(_call(operator, context))
            return _bash(operator)
        case PythonOperator():
            return _call(operator, context)
        case BashOperator():
            return _bash(operator)
    return operator.execute(context)


def _outcome(dag: DAG, operator: BaseOperator, context: Mapping[str, Any], value: Any) -> Outcome:
    untaken = branching.untaken(operator, value) if operator.branching else None
    template = operator.options["map_index_template"]
    label = str(render(template, {**context, "result": value}, dag)) if template else None
    news = context["outlet_events"].news()
    unread = value is None and (operator.mapping or operator.mapped_group or not mapped.needed(dag, operator.task_id))
    if unread or not operator.options["do_xcom_push"]:
        return Outcome(None, label, untaken, news)
    if operator.options["multiple_outputs"]:
        if not isinstance(value, dict):
            raise DagbookError(f"multiple_outputs: the task returned a {type(value).__name__}, not a dict")
        for name, part in value.items():
            context["ti"].xcom_push(str(name), part)
    return Outcome(mapped.measured(dag, operator, value), label, untaken, news)


def _call(operator: Any, context: Mapping[str, Any]) -> Any:
    """The operator's function with its arguments, and the context names that it declares."""
    function = operator.python_callable
    return function(*operator.op_args, **_with_context(function, operator, context))


def _with_context(function: Callable[..., Any], operator: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments, plus the context names that the function declares and the author didn't fill."""
    parameters = inspect.signature(function).parameters
    given = dict(operator.op_kwargs)
    positional = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = {*given, *positional[: len(operator.op_args)]}
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return {**{k: v for k, v in context.items() if k not in taken}, **given}
    return {**{k: context[k] for k in parameters if k in context and k not in taken}, **given}


def _bash(operator: BashOperator) -> str | None:
    """The last line of standard output."""
    last = ""
    process = subprocess.Popen(
        ["bash", "-c", operator.bash_command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**(os.environ if operator.append_env else {}), **operator.env},
        cwd=operator.cwd,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    for line in process.stdout:
        sys.stdout.write(line)
        last = line.rstrip("\n")
    code = process.wait()
    if code in operator.skip_on_exit_code:
        raise SkipTask(f"the bash command exited with {code}")
    if code != 0:
        raise DagbookError(f"the bash command exited with {code}; its last line was: {last}")
    return last


def call_back(dag: DAG, claimed: Claimed, key: TryKey, channel: Channel) -> None:
    """Make the call that is owed; the first exception comes out after all functions were called."""
    owed = claimed.callback
    assert owed is not None
    operator = dag.get_task(owed.task_id) if owed.task_id else None
    about = TryKey(key.run, owed.task_id, owed.map_index, owed.try_number)
    context = contexts.build(dag, operator, about, claimed, channel)
    context["reason"] = owed.reason
    context["exception"] = DagbookError(owed.reason) if owed.kind in ("failure", "retry") and owed.reason else None
    context["called_at"] = datetime.now().astimezone()
    failures: list[Exception] = []
    for function in _owed_functions(dag, operator, owed.kind):
        try:
            function(context)
        except Exception as e:
            failures.append(e)
    if failures:
        raise failures[0]


def _owed_functions(dag: DAG, operator: BaseOperator | None, kind: str) -> list[Callable[[Any], Any]]:
    if kind == "deadline":
        alert = operator.options["deadline"] if operator is not None else dag.deadline
        return as_functions(getattr(alert, "callback", None))
    if operator is not None:
        return as_functions(operator.options[f"on_{kind}_callback"])
    return as_functions(getattr(dag, f"on_{kind}_callback"))
