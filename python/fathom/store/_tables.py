"""The tables, as SQLAlchemy Core knows them; the migrations make them.

Times are seconds since 1970-01-01T00:00:00Z. A column carries its unit at the end of its name.
Results are kept whole, as JSON compressed with zlib, which every Python has; the summary columns
repeat what lists and filters need. They are null where an imported result does not tell; of what
Fathom measured they are null only where nothing of the kind was measured.
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import BigInteger

from fathom.store._revision import REVISION, VERSION_TABLE

__all__ = [
    "DIRECTIONS",
    "NATIVE",
    "REVISION",
    "VERSION_TABLE",
    "baselines",
    "experiments",
    "import_sources",
    "latency_columns",
    "metadata",
    "overrides",
    "provenances",
    "run_targets",
    "runs",
    "shared_texts",
    "steps",
]

DIRECTIONS = ("read", "write", "total")
# The origin of runs that Fathom measured.
NATIVE = "native"
_LATENCIES = ("mean", "p50", "p95", "p99", "p999", "max")

# SQLite gives ids of its own only to INTEGER; BIGINT is for PostgreSQL.
_Big = BigInteger().with_variant(Integer, "sqlite")

# A B-tree of PostgreSQL refuses a row of which it would hold more than 2704 bytes; labels, and the
# serials of all disks beneath a target, may be longer. SQLite takes them as they are.
_ANY_LENGTH = "hash"

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def latency_columns(direction: str) -> tuple[str, ...]:
    """Return the names of the summary columns of latency of one direction."""
    return tuple(f"{direction}_latency_{name}_ns" for name in _LATENCIES)


def _id() -> Column[int]:
    return Column("id", _Big, primary_key=True, autoincrement=True)


def _summary(direction: str) -> list[Column[float]]:
    names = (f"{direction}_iops", f"{direction}_mib_per_s", *latency_columns(direction))
    return [Column(name, Float) for name in names]


experiments = Table(
    "experiments",
    metadata,
    _id(),
    Column("verb", String(40), nullable=False),
    Column("name", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("failure", Text),
    Column("started_at_unix_s", Float, nullable=False),
    Column("ended_at_unix_s", Float),
    Column("tool_version", String(40), nullable=False),
    Column("plan_json", Text, nullable=False),
    Column("outcome_json", Text),
    CheckConstraint("state IN ('running', 'complete', 'failed', 'interrupted')", name="state"),
    sqlite_autoincrement=True,
)

steps = Table(
    "steps",
    metadata,
    _id(),
    Column("experiment_id", _Big, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("label", Text, nullable=False),
    Column("parameters_json", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("failure", Text),
    UniqueConstraint("experiment_id", "position"),
    CheckConstraint("state IN ('pending', 'done', 'failed', 'skipped')", name="state"),
    sqlite_autoincrement=True,
)

# What was imported, whole; one source may hold several runs.
import_sources = Table(
    "import_sources",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("size_bytes", _Big, nullable=False),
    Column("imported_at_unix_s", Float, nullable=False),
    Column("content_zlib", LargeBinary, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    _id(),
    # Tells runs of several stores apart.
    Column("uid", String(36), nullable=False, unique=True),
    Column("experiment_id", _Big, ForeignKey("experiments.id", ondelete="CASCADE")),
    Column("step_id", _Big, ForeignKey("steps.id", ondelete="CASCADE")),
    Column("label", Text, nullable=False),
    Column("started_at_unix_s", Float),
    Column("saved_at_unix_s", Float, nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("failure", Text),
    Column("arguments_json", Text, nullable=False),
    Column("command_line", Text, nullable=False),
    Column("profile_json", Text, nullable=False),
    Column("result_schema_version", Integer, nullable=False),
    Column("result_json_zlib", LargeBinary, nullable=False),
    Column("warning_count", Integer, nullable=False),
    Column("block_bytes", _Big),
    Column("thread_count", Integer),
    Column("outstanding_per_thread", Integer),
    Column("write_percent", Float),
    Column("random_percent", Float),
    Column("time_span_count", Integer, nullable=False),
    Column("measured_s", Float),
    Column("cpu_percent", Float),
    Column("ios", _Big),
    Column("bytes", _Big),
    *(column for direction in DIRECTIONS for column in _summary(direction)),
    *(Column(name, Float) for name in ("sync_iops", *latency_columns("sync"))),
    # NATIVE, or the format that the run was imported from.
    Column("origin", String(40), nullable=False, server_default=NATIVE),
    Column("origin_tool", Text),
    Column("origin_tool_version", Text),
    Column("source_sha256", String(64), ForeignKey("import_sources.sha256")),
    # Counts the results of one source from 0.
    Column("source_position", Integer),
    # The same of all runs of one load on one target of one host; null of what was imported.
    Column("series_key", String(32)),
    CheckConstraint("outcome IN ('complete', 'failed', 'interrupted')", name="outcome"),
    Index(None, "started_at_unix_s"),
    Index(None, "experiment_id"),
    Index(None, "step_id"),
    Index(None, "label", postgresql_using=_ANY_LENGTH),
    Index(None, "source_sha256"),
    Index(None, "series_key", "outcome"),
    sqlite_autoincrement=True,
)

# What is the same in many runs stands here once; a column that begins with "sha256:" means it.
shared_texts = Table(
    "shared_texts",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("content", Text, nullable=False),
)

provenances = Table(
    "provenances",
    metadata,
    Column("run_id", _Big, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("tool_version", String(40), nullable=False),
    Column("host_name", Text, nullable=False),
    Column("kernel", Text, nullable=False),
    Column("cpu_model", Text, nullable=False),
    Column("cpu_count", Integer),
    Column("cpu_governor", Text, nullable=False),
    Column("memory_bytes", _Big),
    Column("io_backends", Text, nullable=False),
)

run_targets = Table(
    "run_targets",
    metadata,
    Column("run_id", _Big, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("path", Text, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("size_bytes", _Big),
    Column("file_system", Text),
    Column("mount_options", Text),
    Column("device_names", Text),
    Column("device_model", Text),
    Column("device_serial", Text),
    Column("device_firmware", Text),
    Column("device_scheduler", Text),
    Column("device_write_cache", Text),
    Column("device_is_rotational", Integer),
    Column("device_bytes", _Big),
    Index(None, "device_serial", postgresql_using=_ANY_LENGTH),
)

baselines = Table(
    "baselines",
    metadata,
    Column("name", String(100), primary_key=True),
    # No cascade: what a baseline names is not deleted with a list of old runs.
    Column("run_id", _Big, ForeignKey("runs.id", ondelete="RESTRICT")),
    Column("experiment_id", _Big, ForeignKey("experiments.id", ondelete="RESTRICT")),
    Column("set_at_unix_s", Float, nullable=False),
    CheckConstraint("(run_id IS NULL) <> (experiment_id IS NULL)", name="names_one"),
)

# Without foreign keys: the lines stay when what they tell of is deleted.
overrides = Table(
    "overrides",
    metadata,
    _id(),
    Column("at_unix_s", Float, nullable=False),
    Column("user_id", _Big, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("host_name", Text, nullable=False),
    Column("permission", Text, nullable=False),
    Column("target_path", Text, nullable=False),
    Column("target_identity", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("experiment_id", _Big),
    Column("run_id", _Big),
    Index(None, "experiment_id"),
    sqlite_autoincrement=True,
)
