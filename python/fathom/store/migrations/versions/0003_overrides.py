"""What was allowed by whom: a line for each override."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table; nothing that was saved is changed."""
    op.create_table(
        "overrides",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("at_unix_s", sa.Float(), nullable=False),
        sa.Column("user_id", _BIG, nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("host_name", sa.Text(), nullable=False),
        sa.Column("permission", sa.Text(), nullable=False),
        sa.Column("target_path", sa.Text(), nullable=False),
        sa.Column("target_identity", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=False),
        sa.Column("experiment_id", _BIG, nullable=True),
        sa.Column("run_id", _BIG, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_overrides")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_overrides_experiment_id"), "overrides", ["experiment_id"])
