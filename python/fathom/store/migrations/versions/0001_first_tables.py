"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["branch_labels", "depends_on", "down_revision", "revision", "upgrade"]

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")


def upgrade() -> None:
    """Make all tables."""
    _experiments()
    _steps()
    _runs()
    _baselines()
    _provenances()
    _run_targets()


def _experiments() -> None:
    op.create_table(
        "experiments",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("verb", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("started_at_unix_s", sa.Float(), nullable=False),
        sa.Column("ended_at_unix_s", sa.Float(), nullable=True),
        sa.Column("tool_version", sa.String(length=40), nullable=False),
        sa.Column("plan_json", sa.Text(), nullable=False),
        sa.Column("outcome_json", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('running', 'complete', 'failed', 'interrupted')",
            name=op.f("ck_experiments_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        sqlite_autoincrement=True,
    )


def _steps() -> None:
    op.create_table(
        "steps",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("experiment_id", _BIG, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("parameters_json", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'done', 'failed', 'skipped')", name=op.f("ck_steps_state")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_steps_experiment_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint(
            "experiment_id", "position", name=op.f("uq_steps_experiment_id_position")
        ),
        sqlite_autoincrement=True,
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _BIG, autoincrement=True, nullable=False),
        sa.Column("uid", sa.String(length=36), nullable=False),
        sa.Column("experiment_id", _BIG, nullable=True),
        sa.Column("step_id", _BIG, nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("started_at_unix_s", sa.Float(), nullable=False),
        sa.Column("saved_at_unix_s", sa.Float(), nullable=False),
        sa.Column("outcome", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("arguments_json", sa.Text(), nullable=False),
        sa.Column("command_line", sa.Text(), nullable=False),
        sa.Column("profile_json", sa.Text(), nullable=False),
        sa.Column("result_schema_version", sa.Integer(), nullable=False),
        sa.Column("result_json_zlib", sa.LargeBinary(), nullable=False),
        sa.Column("warning_count", sa.Integer(), nullable=False),
        sa.Column("block_bytes", _BIG, nullable=False),
        sa.Column("thread_count", sa.Integer(), nullable=False),
        sa.Column("outstanding_per_thread", sa.Integer(), nullable=False),
        sa.Column("write_percent", sa.Float(), nullable=False),
        sa.Column("random_percent", sa.Float(), nullable=False),
        sa.Column("time_span_count", sa.Integer(), nullable=False),
        sa.Column("measured_s", sa.Float(), nullable=False),
        sa.Column("cpu_percent", sa.Float(), nullable=False),
        sa.Column("ios", _BIG, nullable=False),
        sa.Column("bytes", _BIG, nullable=False),
        *(column for direction in ("read", "write", "total") for column in _summary(direction)),
        sa.CheckConstraint(
            "outcome IN ('complete', 'failed', 'interrupted')", name=op.f("ck_runs_outcome")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_runs_experiment_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["step_id"], ["steps.id"], name=op.f("fk_runs_step_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("uid", name=op.f("uq_runs_uid")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_runs_experiment_id"), "runs", ["experiment_id"], unique=False)
    op.create_index(op.f("ix_runs_label"), "runs", ["label"], unique=False)
    op.create_index(op.f("ix_runs_started_at_unix_s"), "runs", ["started_at_unix_s"], unique=False)
    op.create_index(op.f("ix_runs_step_id"), "runs", ["step_id"], unique=False)


def _baselines() -> None:
    op.create_table(
        "baselines",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("run_id", _BIG, nullable=True),
        sa.Column("experiment_id", _BIG, nullable=True),
        sa.Column("set_at_unix_s", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "(run_id IS NULL) <> (experiment_id IS NULL)", name=op.f("ck_baselines_names_one")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id"],
            ["experiments.id"],
            name=op.f("fk_baselines_experiment_id"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_baselines_run_id"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_baselines")),
    )


def _provenances() -> None:
    op.create_table(
        "provenances",
        sa.Column("run_id", _BIG, nullable=False),
        sa.Column("tool_version", sa.String(length=40), nullable=False),
        sa.Column("host_name", sa.Text(), nullable=False),
        sa.Column("kernel", sa.Text(), nullable=False),
        sa.Column("cpu_model", sa.Text(), nullable=False),
        sa.Column("cpu_count", sa.Integer(), nullable=False),
        sa.Column("cpu_governor", sa.Text(), nullable=False),
        sa.Column("memory_bytes", _BIG, nullable=False),
        sa.Column("io_backends", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_provenances_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_provenances")),
    )


def _run_targets() -> None:
    op.create_table(
        "run_targets",
        sa.Column("run_id", _BIG, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("size_bytes", _BIG, nullable=False),
        sa.Column("file_system", sa.Text(), nullable=True),
        sa.Column("mount_options", sa.Text(), nullable=True),
        sa.Column("device_names", sa.Text(), nullable=True),
        sa.Column("device_model", sa.Text(), nullable=True),
        sa.Column("device_serial", sa.Text(), nullable=True),
        sa.Column("device_firmware", sa.Text(), nullable=True),
        sa.Column("device_scheduler", sa.Text(), nullable=True),
        sa.Column("device_write_cache", sa.Text(), nullable=True),
        sa.Column("device_is_rotational", sa.Integer(), nullable=True),
        sa.Column("device_bytes", _BIG, nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_run_targets_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_run_targets")),
    )
    op.create_index(
        op.f("ix_run_targets_device_serial"), "run_targets", ["device_serial"], unique=False
    )


def _summary(direction: str) -> list[sa.Column[float]]:
    latencies = [f"{direction}_latency_{name}_ns" for name in _LATENCIES]
    names = [f"{direction}_iops", f"{direction}_mib_per_s", *latencies]
    return [sa.Column(name, sa.Float(), nullable=True) for name in names]
