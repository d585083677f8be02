"""The engine's side of the task execution protocol, answered from memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from dagbook.errors import Invalid
from dagbook.testing.world import Key, World
from dagbook.wire.tasks import (
    ConnectionGet,
    ConnectionValue,
    Done,
    Indexes,
    PreviousSuccess,
    PreviousSuccessGet,
    Reply,
    Request,
    TriggeringEvents,
    TriggeringEventsGet,
    Values,
    VariableGet,
    VariableValue,
    XComGet,
    XComIndexes,
    XComSet,
)
from dagbook.worker.channel import Channel


@dataclass
class Memory(Channel):
    """What the task instance ``key`` asks for, from ``world`` and from the variables and connections that were given."""

    world: World
    key: Key
    variables: Mapping[str, str] = field(default_factory=dict)
    connections: Mapping[str, ConnectionValue] = field(default_factory=dict)

    def ask(self, request: Request) -> Reply:
        values = self.world.values
        match request:
            case XComGet(task_id, name, map_indexes):
                found = {i: v for (t, i, k), v in sorted(values.items()) if t == task_id and k == name}
                wanted = list(found) if map_indexes is None else [i for i in map_indexes if i in found]
                return Values([(i, found[i]) for i in wanted])
            case XComIndexes(task_id, name):
                return Indexes(sorted(i for t, i, k in values if t == task_id and k == name))
            case XComSet(name, value):
                values[(*self.key, name)] = value
                return Done()
            case VariableGet(name):
                return VariableValue(self.variables.get(name))
            case ConnectionGet(conn_id):
                return self.connections.get(conn_id, ConnectionValue())
            case PreviousSuccessGet():
                return PreviousSuccess()
            case TriggeringEventsGet():
                return TriggeringEvents([])
            case _:
                raise AssertionError(f"no answer to {request!r}")


def connection(conn_id: str, given: Any) -> ConnectionValue:
    """A URI such as ``postgres://user:secret@host:5432/db``, or a mapping of the fields."""
    if isinstance(given, Mapping):
        unknown = sorted(set(given) - set(ConnectionValue.__struct_fields__))
        if unknown:
            raise Invalid(f"connection {conn_id!r} has no field {unknown[0]!r}; there are: {', '.join(ConnectionValue.__struct_fields__)}")
        return ConnectionValue(**{"conn_type": "generic", **given})
    uri = urlsplit(str(given))
    if not uri.scheme:
        raise Invalid(f"connection {conn_id!r}: {given!r} is no URI; write type://login:password@host:port/schema")
    login, password = (unquote(x) if x else None for x in (uri.username, uri.password))
    return ConnectionValue(uri.scheme, uri.hostname, uri.path.lstrip("/") or None, login, password, uri.port, uri.query or None)
