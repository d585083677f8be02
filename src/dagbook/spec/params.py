"""Run parameters against their JSON schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dagbook.errors import Invalid, nearest
from dagbook.spec.models import ParamSpec


def schema_fault(schema: Mapping[str, Any]) -> str | None:
    """What is wrong with the schema itself."""
    if not schema:
        return None
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as e:
        return f"{'.'.join(str(p) for p in e.path) or 'the schema'}: {e.message}"
    return None


def value_fault(param: ParamSpec, value: Any) -> str | None:
    """Why ``value`` is none that the param may have."""
    if not param.schema:
        return None
    import jsonschema

    validator = jsonschema.Draft202012Validator(param.schema, format_checker=jsonschema.FormatChecker())
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    if error is None:
        return None
    where = "".join(f"[{step!r}]" for step in error.absolute_path)
    return f"param {param.name!r}{where}: {error.message}"


def required(param: ParamSpec) -> bool:
    """It has no default, and its schema wants a value: each run must give one."""
    return param.default is None and value_fault(param, None) is not None


def fill(dag_id: str, params: Iterable[ParamSpec], conf: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults with ``conf``'s values; ``Invalid`` names what the DAG doesn't have, and every value that fails its schema."""
    by_name = {p.name: p for p in params}
    for name in conf:
        if by_name and name not in by_name:
            raise Invalid(f"DAG {dag_id!r} has no param {name!r}{nearest(name, list(by_name))}")
    faults = []
    for name, p in by_name.items():
        if name not in conf and required(p):
            faults.append(f"param {name!r} has no default; give it: --param {name}=VALUE")
        elif name in conf and (fault := value_fault(p, conf[name])):
            faults.append(fault)
    if faults:
        raise Invalid(f"DAG {dag_id!r}: " + "; ".join(faults))
    return {name: conf.get(name, p.default) for name, p in by_name.items()}
