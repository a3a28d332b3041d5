"""What the store hands out: typed, immutable, with the unit in each name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.imported import ImportedResult
    from fathom.result import Result

__all__ = [
    "BULKY",
    "Baseline",
    "Experiment",
    "ExperimentState",
    "RunOutcome",
    "RunSummary",
    "Step",
    "StepState",
    "StoredRun",
    "run_summary",
]

ExperimentState = Literal["running", "complete", "failed", "interrupted"]
StepState = Literal["pending", "done", "failed", "skipped"]
RunOutcome = Literal["complete", "failed", "interrupted"]

# The columns of a run that no list has.
BULKY = frozenset({"result_json_zlib", "profile_json", "arguments_json", "series_key"})


@dataclass(frozen=True)
class RunSummary:
    """One line of a list of runs.

    ``columns`` has everything but the result: the columns of the table ``runs``, those of its
    provenance, and of its first target those that begin with ``device_`` and ``target_``.
    ``failure`` is None unless the run failed; ``started_at_unix_s`` is None of an imported run
    whose source does not tell it. The column ``origin`` is ``native`` for what Fathom measured,
    else the format of the import, such as ``fio-json``.
    """

    id: int
    experiment_id: int | None
    step_id: int | None
    label: str
    outcome: RunOutcome
    failure: str | None
    started_at_unix_s: float | None
    columns: Mapping[str, Any] = field(repr=False)


def run_summary(row: Mapping[Any, Any]) -> RunSummary:
    """Return the line of a run of its columns."""
    return RunSummary(
        id=row["id"],
        experiment_id=row["experiment_id"],
        step_id=row["step_id"],
        label=row["label"],
        outcome=row["outcome"],
        failure=row["failure"],
        started_at_unix_s=row["started_at_unix_s"],
        columns={name: value for name, value in row.items() if name not in BULKY},
    )


@dataclass(frozen=True)
class StoredRun:
    """A run, whole.

    ``imported`` is what its source told, if the run was imported from another tool, else None; then
    ``result`` is a view of it in the shape of a measured one (``fathom.imported``).
    """

    summary: RunSummary
    arguments: tuple[str, ...]
    result: Result = field(repr=False)
    targets: tuple[Mapping[str, Any], ...] = field(repr=False)
    imported: ImportedResult | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Step:
    """One step of an experiment, such as a cell of a sweep; ``position`` counts from 0."""

    id: int
    position: int
    label: str
    parameters: Mapping[str, Any]
    state: StepState
    failure: str | None


@dataclass(frozen=True)
class Experiment:
    """Several runs with one question.

    ``plan`` is what the verb needs to resume, ``outcome`` what it found; the verb owns both.
    ``is_abandoned`` tells that it is noted as running, while the process that ran it is gone, as
    after ``kill -9``: it can be resumed. ``once_allowed`` is what was typed for the command that
    began it, such as ``--overwrite``: a note, which allows nothing. ``begun_in`` is the folder of
    this host that relative names in the plan are of; None if it began on another, or nobody knows.
    """

    id: int
    verb: str
    name: str
    state: ExperimentState
    failure: str | None
    started_at_unix_s: float
    ended_at_unix_s: float | None
    plan: Mapping[str, Any] = field(repr=False)
    outcome: Mapping[str, Any] | None = field(repr=False)
    run_count: int
    steps: Sequence[Step] = field(repr=False)
    is_abandoned: bool = False
    once_allowed: tuple[str, ...] = ()
    begun_in: str | None = None


@dataclass(frozen=True)
class Baseline:
    """A name for a run or for the runs of an experiment; one of both ids is None."""

    name: str
    run_id: int | None
    experiment_id: int | None
    set_at_unix_s: float
