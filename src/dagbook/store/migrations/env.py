"""Alembic's entry: runs migrations on the connection that ``dagbook.store.migrate`` hands over."""

from alembic import context

from dagbook.store.tables import SCHEMA, metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, version_table_schema=SCHEMA)
context.run_migrations()
