"""Imported runs, of which much may be unknown, and the latencies of syncs."""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")
_UNKNOWN_IN_IMPORTS = {
    "runs": (
        "started_at_unix_s",
        "block_bytes",
        "thread_count",
        "outstanding_per_thread",
        "write_percent",
        "random_percent",
        "measured_s",
        "cpu_percent",
        "ios",
        "bytes",
    ),
    "provenances": ("cpu_count", "memory_bytes"),
    "run_targets": ("size_bytes",),
}


def upgrade() -> None:
    """Make room for imports; nothing that was saved is changed."""
    _import_sources()
    _new_columns()
    for table, columns in _UNKNOWN_IN_IMPORTS.items():
        if op.get_context().dialect.name == "sqlite":
            _allow_null_in_sqlite(table, columns)
        else:
            for column in columns:
                op.alter_column(table, column, nullable=True)


def _import_sources() -> None:
    op.create_table(
        "import_sources",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size_bytes", _BIG, nullable=False),
        sa.Column("imported_at_unix_s", sa.Float(), nullable=False),
        sa.Column("content_zlib", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_import_sources")),
    )


def _new_columns() -> None:
    for name in ("sync_iops", *(f"sync_latency_{name}_ns" for name in _LATENCIES)):
        op.add_column("runs", sa.Column(name, sa.Float(), nullable=True))
    origin = sa.Column("origin", sa.String(length=40), nullable=False, server_default="native")
    op.add_column("runs", origin)
    op.add_column("runs", sa.Column("origin_tool", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("origin_tool_version", sa.Text(), nullable=True))
    # Alembic would add the constraint apart, which SQLite has no statement for.
    op.execute(
        "ALTER TABLE runs ADD COLUMN source_sha256 VARCHAR(64) "
        "CONSTRAINT fk_runs_source_sha256 REFERENCES import_sources (sha256)"
    )
    op.add_column("runs", sa.Column("source_position", sa.Integer(), nullable=True))
    op.create_index(op.f("ix_runs_source_sha256"), "runs", ["source_sha256"], unique=False)


def _allow_null_in_sqlite(table: str, columns: tuple[str, ...]) -> None:
    """Take NOT NULL out of the table's definition, as https://sqlite.org/lang_altertable.html says.

    That is its way for constraints whose removal changes no row ("Making Other Kinds Of Table
    Schema Changes", the second procedure). Copying the table instead would delete the rows of
    other tables with it, whose foreign keys cannot be disabled within a transaction.
    """
    connection = op.get_bind()
    schema: sa.TextClause = sa.text(
        "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"
    )
    definition = str(connection.execute(schema, {"name": table}).scalar_one())
    for column in columns:
        definition, count = re.subn(rf"(\b{column} [A-Z]+) NOT NULL", r"\1", definition)
        if count != 1:
            raise RuntimeError(f"the table {table} has no column {column} that must be known")
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    change = sa.text("UPDATE sqlite_master SET sql = :sql WHERE type = 'table' AND name = :name")
    connection.execute(change, {"sql": definition, "name": table})
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")
    found = connection.exec_driver_sql("PRAGMA integrity_check").scalar_one()
    if found != "ok":
        raise RuntimeError(f"the table {table} could not be changed: {found}")
