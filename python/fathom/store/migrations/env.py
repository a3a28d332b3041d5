"""Alembic's entry: runs the migrations in the store's own transaction."""

from __future__ import annotations

from alembic import context
from fathom.store._tables import VERSION_TABLE, metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,  # The transaction is the store's own.
)
context.run_migrations()
