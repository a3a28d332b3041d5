"""Series by a key, and texts that many runs share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from fathom.store.sharing import fill_series

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, its index and the table; texts of older runs stay where they are."""
    op.create_table(
        "shared_texts",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_shared_texts")),
    )
    op.add_column("runs", sa.Column("series_key", sa.String(32), nullable=True))
    fill_series(op.get_bind())
    op.create_index(op.f("ix_runs_series_key_outcome"), "runs", ["series_key", "outcome"])
