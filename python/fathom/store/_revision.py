"""Which tables a store has to have, known without importing what makes them."""

from __future__ import annotations

__all__ = ["REVISION", "VERSION_TABLE"]

# The newest migration. It stands here so that an up-to-date store opens without Alembic, which is
# slow to import; a test holds it to the migrations.
REVISION = "0005"
# A name of its own, because other programs in the same database may use Alembic too.
VERSION_TABLE = "fathom_version"
