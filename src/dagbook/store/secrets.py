"""Variables and connections."""

from __future__ import annotations

from sqlalchemy import text

from dagbook.store.work import Work
from dagbook.wire.tasks import ConnectionValue


def variable(work: Work, key: str) -> str | None:
    value = work.conn.execute(text("SELECT value FROM variable WHERE key = :k"), {"k": key}).scalar()
    return None if value is None else bytes(value).decode()


def set_variable(work: Work, key: str, value: str, description: str | None = None) -> None:
    work.conn.execute(
        text(
            "INSERT INTO variable (key, value, description) VALUES (:k, :v, :d) ON CONFLICT (key) DO UPDATE SET value = excluded.value, "
            "description = coalesce(excluded.description, variable.description)"
        ),
        {"k": key, "v": value.encode(), "d": description},
    )


def forget_variable(work: Work, key: str) -> bool:
    return work.conn.execute(text("DELETE FROM variable WHERE key = :k"), {"k": key}).rowcount > 0


def variable_keys(work: Work) -> list[str]:
    return list(work.conn.execute(text("SELECT key FROM variable ORDER BY key LIMIT 10000")).scalars())


def connection(work: Work, conn_id: str) -> ConnectionValue | None:
    row = work.conn.execute(
        text("SELECT conn_type, host, schema, login, password, port, extra FROM connection WHERE conn_id = :c"), {"c": conn_id}
    ).one_or_none()
    if row is None:
        return None
    password, extra = (None if v is None else bytes(v).decode() for v in (row.password, row.extra))
    return ConnectionValue(row.conn_type, row.host, row.schema, row.login, password, row.port, extra)


def set_connection(work: Work, conn_id: str, value: ConnectionValue) -> None:
    work.conn.execute(
        text(
            "INSERT INTO connection (conn_id, conn_type, host, schema, login, password, port, extra) "
            "VALUES (:c, :type, :host, :schema, :login, :password, :port, :extra) ON CONFLICT (conn_id) DO UPDATE SET "
            "conn_type = excluded.conn_type, host = excluded.host, schema = excluded.schema, login = excluded.login, "
            "password = excluded.password, port = excluded.port, extra = excluded.extra"
        ),
        {
            "c": conn_id,
            "type": value.conn_type or "generic",
            "host": value.host,
            "schema": value.schema,
            "login": value.login,
            "password": value.password.encode() if value.password is not None else None,
            "port": value.port,
            "extra": value.extra.encode() if value.extra is not None else None,
        },
    )


def connection_ids(work: Work) -> list[str]:
    return list(work.conn.execute(text("SELECT conn_id FROM connection ORDER BY conn_id LIMIT 10000")).scalars())
