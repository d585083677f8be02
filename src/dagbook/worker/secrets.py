"""Variables and connections as tasks see them: fetched one by one when they are named."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from dagbook.errors import NotFound
from dagbook.wire.tasks import ConnectionGet, ConnectionValue, VariableGet, VariableValue
from dagbook.worker.channel import Channel

_NOTHING = object()


class Variables:
    """``var.value.name``, ``var.value.get("name", default)``."""

    def __init__(self, channel: Channel):
        self._channel = channel

    def get(self, key: str, default: Any = None) -> Any:
        reply = self._channel.ask(VariableGet(key))
        assert isinstance(reply, VariableValue)
        return default if reply.value is None else self._read(key, reply.value)

    def _read(self, key: str, value: str) -> Any:
        return value

    def __getattr__(self, key: str) -> Any:
        if key.startswith("_"):
            raise AttributeError(key)
        found = self.get(key, _NOTHING)
        if found is _NOTHING:
            raise NotFound(f"there is no variable {key!r}; set it with: dagbook variables set {key} VALUE")
        return found

    __getitem__ = __getattr__


class JsonVariables(Variables):
    """``var.json.name``: the value read as JSON."""

    def _read(self, key: str, value: str) -> Any:
        try:
            return json.loads(value)
        except ValueError as e:
            raise NotFound(f"variable {key!r} holds no JSON: {e}") from None


@dataclass(frozen=True)
class Connection:
    """How to reach something outside; ``extra_dejson`` are the options beyond the usual ones."""

    conn_id: str
    conn_type: str
    host: str | None = None
    schema: str | None = None
    login: str | None = None
    password: str | None = field(default=None, repr=False)
    port: int | None = None
    extra: str | None = field(default=None, repr=False)

    @staticmethod
    def get(conn_id: str) -> Connection:
        """The connection, inside a running task."""
        from dagbook.worker.context import get_current_context

        found: Connection = get_current_context()["conn"][conn_id]
        return found

    @property
    def extra_dejson(self) -> dict[str, Any]:
        return dict(json.loads(self.extra)) if self.extra else {}


class Connections:
    """``conn.name``."""

    def __init__(self, channel: Channel):
        self._channel = channel

    def get(self, conn_id: str) -> Connection | None:
        reply = self._channel.ask(ConnectionGet(conn_id))
        assert isinstance(reply, ConnectionValue)
        if reply.conn_type is None:
            return None
        return Connection(conn_id, reply.conn_type, reply.host, reply.schema, reply.login, reply.password, reply.port, reply.extra)

    def __getattr__(self, conn_id: str) -> Connection:
        if conn_id.startswith("_"):
            raise AttributeError(conn_id)
        found = self.get(conn_id)
        if found is None:
            raise NotFound(f"there is no connection {conn_id!r}")
        return found

    __getitem__ = __getattr__


class Variable:
    """``Variable.get("name")`` inside a running task."""

    @staticmethod
    def get(key: str, default: Any = _NOTHING, deserialize_json: bool = False, **more: Any) -> Any:
        from dagbook.worker.context import get_current_context

        default = more.get("default_var", default)
        var = get_current_context()["var"]
        source: Variables = var.json if deserialize_json else var.value
        found = source.get(key, default)
        return getattr(source, key) if found is _NOTHING else found
