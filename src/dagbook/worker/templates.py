"""``{{ }}`` templates over a task's context, in a sandbox."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from dagbook.authoring.builder import DAG
from dagbook.authoring.templated import short
from dagbook.errors import FailTask


@functools.cache
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    env = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    env.filters.update(
        ds=lambda t: t.strftime("%Y-%m-%d"),
        ts=lambda t: t.isoformat(),
        ds_nodash=lambda t: t.strftime("%Y%m%d"),
        ts_nodash=lambda t: t.strftime("%Y%m%dT%H%M%S"),
    )
    return env


def render(value: Any, context: Mapping[str, Any], dag: DAG | None = None) -> Any:
    """``{{ }}`` in every string of ``value``'s lists, tuples and dicts; other text is left byte for byte.

    Raise ``FailTask`` for a template that doesn't parse, with its line, or names what the context doesn't have.
    """
    if isinstance(value, str):
        return _rendered(value, context, dag) if "{{" in value or "{%" in value else value
    if isinstance(value, dict):
        return {k: render(v, context, dag) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(render(v, context, dag) for v in value)
    return value


def _rendered(text: str, context: Mapping[str, Any], dag: DAG | None) -> str:
    from jinja2 import TemplateSyntaxError, UndefinedError
    from jinja2.exceptions import SecurityError

    env = _environment()
    if dag is not None and (dag.user_defined_macros or dag.user_defined_filters):
        env = env.overlay()
        env.filters = {**env.filters, **dag.user_defined_filters}
    try:
        template = env.from_string(text)
        if dag is not None:
            template.globals.update(dag.user_defined_macros)
        # The context as it is, not a copy: some of it is fetched only when it is named.
        scope = template.new_context(context, shared=True)
        scope.parent = _Scope(context, template.globals)
        return "".join(template.root_render_func(scope))
    except TemplateSyntaxError as e:
        raise FailTask(f"the template {short(text)} doesn't parse, line {e.lineno}: {e.message}") from None
    except UndefinedError as e:
        raise FailTask(f"the template {short(text)} names what isn't there: {e.message}") from None
    except SecurityError as e:
        raise FailTask(f"the template {short(text)} wants what templates may not have: {e}") from None


class _Scope(dict[str, Any]):
    """The context, and behind it the template's own names."""

    def __init__(self, context: Mapping[str, Any], names: Mapping[str, Any]):
        super().__init__(names)
        self._context = context

    def __contains__(self, name: object) -> bool:
        return name in self._context or super().__contains__(name)

    def __getitem__(self, name: str) -> Any:
        return self._context[name] if name in self._context else super().__getitem__(name)
