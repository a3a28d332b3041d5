"""What the API takes and gives, as OpenAPI documents it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fathom.web.processes import ProcessState

__all__ = [
    "BaselineIn",
    "BaselineOut",
    "ComparisonOut",
    "ErrorOut",
    "ExperimentOut",
    "ExplanationIn",
    "ExplanationOut",
    "FindingOut",
    "ProcessOut",
    "ProgressOut",
    "RunOut",
    "SeriesOut",
    "StartIn",
    "TargetOut",
    "TrendOut",
    "WorkloadOut",
]

_Verb = Literal["run", "repeat", "sweep", "tune", "compare", "assess"]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ExplanationIn(_In):
    """What is to be run, and what is allowed for this run."""

    verb: _Verb
    arguments: list[str] = Field(description="The words behind the verb.", max_length=200)
    overwrite: bool = Field(default=False, description="Data of others may be lost.")
    allow_write: list[str] = Field(
        default=[],
        max_length=32,
        description="The tokens of block devices that may be written, as --allow-write= has them.",
    )


class ErrorOut(BaseModel):
    """Why something was not done."""

    detail: str


class ExplanationOut(BaseModel):
    """What would be done."""

    id: str = Field(description="What starts it, once, for a quarter of an hour.")
    command: str
    text: str = Field(description="What would be done, or why not, in words.")
    would_run: bool


class StartIn(_In):
    """What is to be started."""

    explanation: str = Field(description="The id of an explanation.", max_length=64)


class ProgressOut(BaseModel):
    """How far an experiment is, counted in runs."""

    done: int | None = None
    expected: float | None = None
    failed: int | None = None
    remaining_s: float | None = None


class ProcessOut(BaseModel):
    """Something that was started here."""

    id: str
    verb: str
    command: str
    user: str
    state: ProcessState
    exit_code: int | None = None
    started_at_unix_s: float
    ended_at_unix_s: float | None = None
    phase: str | None = None
    step: str | None = None
    planned_s: float | None = None
    experiment_id: int | None = None
    run_ids: list[int] = []
    progress: ProgressOut | None = None
    failure: str | None = None
    errors: str = ""
    output: str = ""


class RunOut(BaseModel):
    """A run in the store."""

    id: int
    label: str
    outcome: str
    failure: str | None
    experiment_id: int | None
    started_at_unix_s: float | None
    target: str | None
    host: str | None
    block_bytes: int | None
    thread_count: int | None
    outstanding_per_thread: int | None
    write_percent: float | None
    random_percent: float | None
    # In a few words, such as ``8K rand w30 t2 o8``.
    load: str
    iops: float | None
    mib_per_s: float | None
    latency_ns_mean: float | None
    latency_ns_p50: float | None
    latency_ns_p99: float | None
    latency_ns_p999: float | None
    warnings: int


class ExperimentOut(BaseModel):
    """An experiment in the store."""

    id: int
    verb: str
    name: str
    state: str
    failure: str | None
    started_at_unix_s: float
    ended_at_unix_s: float | None
    runs: int
    is_abandoned: bool


class SeriesOut(BaseModel):
    """One load on one target: its newest run, and how many there are."""

    newest: RunOut
    runs: int


class LevelOut(BaseModel):
    """A level of a series: from which run to which, counted from 0."""

    first: int
    last: int
    mean: float
    change: float | None
    low: float | None
    high: float | None
    outcome: str | None


class TrendOut(BaseModel):
    """A series over time."""

    metric: str
    outcome: str
    run_ids: list[int]
    values: list[float]
    levels: list[LevelOut]
    claims: list[str]
    left_out: int
    """Runs that do not have the figure."""


class ComparisonOut(BaseModel):
    """What changed from one to the other, in sentences."""

    sentences: list[str]
    differences: list[str]


class FindingOut(BaseModel):
    """One thing to know before the figures are believed."""

    rule: str
    title: str
    target: str
    evidence: str
    remedy: str
    confidence: str
    run_ids: list[int]


class TargetOut(BaseModel):
    """Something of this machine that could be measured."""

    kind: str
    path: str
    size_bytes: int | None
    free_bytes: int | None
    model: str
    use: str
    may_be_written: bool


class WorkloadOut(BaseModel):
    """A load by name."""

    name: str
    title: str
    description: str


class BaselineIn(_In):
    """What a baseline is to name: a run, 12, or an experiment, e3."""

    reference: str = Field(max_length=64)


class BaselineOut(BaseModel):
    """A name for a run or an experiment."""

    name: str
    run_id: int | None
    experiment_id: int | None
