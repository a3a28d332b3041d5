"""Labels and serials of any length, which an index of PostgreSQL refused with their run."""

from __future__ import annotations

from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


_INDEXES = {"runs": "label", "run_targets": "device_serial"}


def upgrade() -> None:
    """Index them by their hashes; SQLite takes rows of any length, and stays as it is."""
    if op.get_context().dialect.name == "sqlite":
        return
    for table, column in _INDEXES.items():
        name = op.f(f"ix_{table}_{column}")
        op.drop_index(name, table)
        op.create_index(name, table, [column], postgresql_using="hash")
