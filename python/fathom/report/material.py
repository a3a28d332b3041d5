"""What a report is made of: loads with their figures, runs, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fathom._claims import BEST_WORDS
from fathom._digits import change_words
from fathom.report._words import with_micro
from fathom.stats.snia import FIT_PERCENT, RANGE_PERCENT, WINDOW_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.result import Result

__all__ = [
    "Advice",
    "Change",
    "ClusterMark",
    "DensityPoint",
    "Family",
    "GridCell",
    "KeyNumber",
    "Material",
    "Part",
    "Point",
    "ReportedRun",
    "Rounds",
    "Side",
    "TargetsCompared",
    "Verdict",
    "WrittenPiece",
]

Source = Literal["measured", "interpolated", "failed", "pending", "skipped", "left_out"]


@dataclass(frozen=True)
class Point:
    """One load and what was measured at it; what is not known is None.

    Latencies are in nanoseconds, of the whole measured time; ``label`` says in words what it is.
    Threads and depth are 0 where they are not known, as of a run that another tool made. ``marks``
    are the rules of findings that speak against its figures, ``ios`` the I/Os of its latencies.
    """

    label: str
    threads: int
    depth: int
    block_bytes: float | None
    write_percent: float | None
    iops: float
    mib_per_s: float
    mean_ns: float | None = None
    p50_ns: float | None = None
    p95_ns: float | None = None
    p99_ns: float | None = None
    p999_ns: float | None = None
    cpu_percent: float | None = None
    is_measured: bool = True
    run_id: int | None = None
    marks: tuple[str, ...] = ()
    ios: int | None = None

    @property
    def outstanding(self) -> int:
        """I/Os that were under way at once."""
        return self.threads * self.depth


@dataclass(frozen=True)
class Family:
    """Loads that differ in how many I/Os are under way only, rising; ``choice`` tells which.

    ``knee_depth`` is that of one thread at which an assessment took the knee; None where none did.
    """

    choice: Mapping[str, str]
    points: tuple[Point, ...]
    knee_depth: int | None = None


@dataclass(frozen=True)
class GridCell:
    """A cell of a sweep: its parameters by name, and its point unless it failed.

    ``asked`` are all settings of its load; empty where nobody knows. ``estimated_ns`` are the
    latencies of a cell that was not measured, by the names that ``Point`` has for measured ones.
    """

    parameters: Mapping[str, str]
    source: Source
    point: Point | None
    failure: str | None = None
    iops_low: float | None = None
    iops_high: float | None = None
    asked: Mapping[str, object] = field(default_factory=dict, repr=False)
    estimated_ns: Mapping[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ClusterMark:
    """What happened to a cluster's resource during a run, in seconds of its measured time."""

    at_s: float
    words: str
    is_bad: bool


@dataclass(frozen=True)
class ReportedRun:
    """A run, whole.

    Attributes
    ----------
    key, part, label
        Its cell in an assessment, the part to which that belongs, and what it is in words.
    arguments
        With which it was run; empty if nobody knows.
    facts
        What the store's summary has, or what can be told of a result from a file.
    beneath
        What lies beneath each of its targets.
    marks
        The rules of the findings that this run has a part in, as far as that was looked at.
    happened
        To the resources of a cluster meanwhile, if somebody told.
    asked
        All settings of its load by their names.

    """

    key: str
    part: str
    label: str
    arguments: tuple[str, ...]
    result: Result = field(repr=False)
    point: Point
    run_id: int | None
    facts: Mapping[str, Any] = field(repr=False)
    beneath: Sequence[Mapping[str, Any]] = field(repr=False, default=())
    marks: tuple[str, ...] = ()
    happened: tuple[ClusterMark, ...] = ()
    asked: Mapping[str, object] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Verdict:
    """A verdict: the first sentence, and those on which it stands; with the signs of a page."""

    target: str
    headline: str
    sentences: tuple[str, ...]

    def __post_init__(self) -> None:
        """Write the units as a page does, whichever verb the sentences are of."""
        object.__setattr__(self, "headline", with_micro(self.headline))
        object.__setattr__(self, "sentences", tuple(map(with_micro, self.sentences)))


@dataclass(frozen=True)
class KeyNumber:
    """A number of the first screen, as text with its unit; ``value`` is the same as a number.

    ``conditions`` say at which depth and past which caches it was measured, where that is known;
    ``is_barred`` whether it is not a device's, so that it is set beside no other.
    """

    label: str
    text: str
    value: float | None = None
    conditions: str = ""
    is_barred: bool = False

    @property
    def title(self) -> str:
        """The label with the conditions."""
        return f"{self.label} ({self.conditions})" if self.conditions else self.label


@dataclass(frozen=True)
class Advice:
    """A finding: what was noticed, on which evidence, and what to do about it.

    ``where`` says in which runs; ``cases`` are all that was noticed, each with its runs. ``rule``
    found it, and calls it ``name``: the title without the target.
    """

    title: str
    evidence: str
    remedy: str
    confidence: str
    source: str = ""
    where: str = ""
    cases: tuple[str, ...] = ()
    rule: str = ""
    name: str = ""


@dataclass(frozen=True)
class Rounds:
    """Values round by round, by which steadiness is judged.

    Attributes
    ----------
    name, step
        What was measured, and what a round is, such as ``run`` or ``interval of 500 ms``.
    values
        Rates in IOPS.
    window
        So many rounds are looked at together.
    range_percent_limit, slope_percent_limit
        What the greatest less the least value, and the rise or fall of the line of best fit over
        the window, may be at most, in percent of the window's mean.
    is_first
        The first steady window counts, where values follow that; otherwise the last one.

    """

    name: str
    step: str
    values: tuple[float, ...]
    window: int = WINDOW_ROUNDS
    range_percent_limit: float = RANGE_PERCENT
    slope_percent_limit: float = FIT_PERCENT
    is_first: bool = True


@dataclass(frozen=True)
class Part:
    """What a part of a target holds: in words, in bytes, and as a share of the target."""

    name: str
    bytes: float
    share: float


@dataclass(frozen=True)
class WrittenPiece:
    """A piece that was written: how much had been written before it, its size, rate and run."""

    before_bytes: int
    bytes: int
    mib_per_s: float
    run_id: int


@dataclass(frozen=True)
class DensityPoint:
    """So many databases at once, and what was at its limit.

    ``per_s`` is what they did together, ``linear_per_s`` that many times one; ``linear_share`` is
    the one of the other, None if either run was disturbed. ``members`` are the names of each, with
    its rate and mean latency in milliseconds.
    """

    databases: int
    per_s: float
    linear_per_s: float
    linear_share: float | None
    fairness: float
    latency_mean_ms: float | None
    resource: str
    evidence: str
    members: tuple[tuple[str, float, float | None], ...]


@dataclass(frozen=True)
class Side:
    """What is shown of one target, experiment or file; a report has one or several of them.

    Attributes
    ----------
    name
        For the reader.
    verb
        ``assess``, ``sweep``, ``tune``, ``repeat``, ``prepare``, or ``run`` for anything else.
    runs
        Whole runs, as far as figures need them.
    families, grid
        Loads in rising order, and the cells of a sweep.
    axes
        The names of a sweep's parameters.
    rounds
        By which steady state is judged.
    notes
        What a reader must know of what is missing, as sentences.
    is_judged
        Whether findings were looked for, so that none means that nothing was found.
    finds_none
        Why there are no findings, where not even whole runs would give some.
    parts, pieces
        What a target holds, and the pieces in which it was written.
    tool
        What measured, such as ``fio 3.33``; empty where several tools did, or nobody knows.
    densities, per_s
        Rising numbers of databases, and what they did each second, such as ``TPS``.
    is_barred
        Whether findings say that its numbers are not a device's: they are shown, and not compared.
    barred_keys
        The cells of an assessment whose numbers are not a device's, though others are: those of a
        direction in which a limit was met.
    failed
        Measurements that failed, each with its name and the reason.

    """

    name: str
    verb: str
    verdict: Verdict | None = None
    numbers: tuple[KeyNumber, ...] = ()
    advice: tuple[Advice, ...] = ()
    runs: tuple[ReportedRun, ...] = ()
    families: tuple[Family, ...] = ()
    grid: tuple[GridCell, ...] = ()
    axes: tuple[str, ...] = ()
    rounds: tuple[Rounds, ...] = ()
    device: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_judged: bool = False
    finds_none: str = ""
    parts: tuple[Part, ...] = ()
    pieces: tuple[WrittenPiece, ...] = ()
    tool: str = ""
    densities: tuple[DensityPoint, ...] = ()
    per_s: str = ""
    is_barred: bool = False
    barred_keys: frozenset[str] = frozenset()
    failed: tuple[tuple[str, str], ...] = ()

    @property
    def without_advice(self) -> str:
        """What stands where there are no findings: that there are none, or were not looked for."""
        if self.is_judged and self._is_broken:
            return "No finding speaks against these numbers, but a run failed or ended early."
        if self.is_judged:
            return "Nothing speaks against these numbers."
        return self.finds_none or (
            "None were looked for: that needs whole runs that Fathom measured."
        )

    @property
    def _is_broken(self) -> bool:
        """Whether a run whose figures are shown by themselves did not come to its end, or failed.

        What an experiment shows are its complete runs.
        """
        outcomes = {one.facts.get("outcome") for one in self.runs} - {None, "complete"}
        return self.verb == "run" and bool(self.failed or outcomes)

    def run(self, key: str) -> ReportedRun | None:
        """Return the run of a cell of an assessment."""
        return next((one for one in self.runs if one.key == key), None)


@dataclass(frozen=True)
class Change:
    """How a figure changed from the first side to the second, in percent, with its interval."""

    metric: str
    percent: float
    low_percent: float
    high_percent: float
    p_value: float
    is_different: bool
    a_mean: float
    b_mean: float
    verdict: str
    """``better``, ``worse``, ``equal`` or ``cannot tell``."""
    marks: tuple[str, ...] = ()
    """The rules of findings that speak against the runs."""

    @property
    def words(self) -> str:
        """The change and its interval, with the digits that the interval allows."""
        return change_words(self.percent, self.low_percent, self.high_percent)


@dataclass(frozen=True)
class TargetsCompared:
    """Targets of one assessment side by side: what stands before all else.

    Attributes
    ----------
    names
        Of the targets.
    headline, sentences, notes
        Which is the best, the figures in words, and what keeps them from being comparable.
    rows
        A label, and a text for each target.
    best
        Of each row, the places of the best.
    refused
        Why they are not compared; empty where they are.

    """

    names: tuple[str, ...]
    headline: str
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    best: tuple[tuple[int, ...], ...]
    refused: str = ""

    @property
    def legend(self) -> str:
        """What the mark at the best means; nothing where no row has one."""
        return f"{BEST_WORDS}." if any(self.best) else ""

    def marked(self) -> list[list[str]]:
        """Return the rows with a mark at the best of each."""
        return [
            [row[0], *(f"{text} *" if at in best else text for at, text in enumerate(row[1:]))]
            for row, best in zip(self.rows, self.best, strict=True)
        ]


@dataclass(frozen=True)
class Material:
    """All of a report.

    Attributes
    ----------
    title
        Names it.
    command
        Makes the report again.
    sides
        What it shows.
    happened
        When, in words.
    changes, differences
        Of two sides: how the figures changed, and what else differs, as sentences.
    compared
        Of several targets of one assessment.
    told
        Of a comparison of saved runs: what it says, the headline first.

    """

    title: str
    command: str
    sides: tuple[Side, ...]
    happened: str
    changes: tuple[Change, ...] = ()
    differences: tuple[str, ...] = ()
    compared: TargetsCompared | None = None
    told: tuple[str, ...] = ()

    @property
    def found_names(self) -> dict[str, str]:
        """What the findings of each rule are called here, where all of the rule are called so."""
        names: dict[str, set[str]] = {}
        for side in self.sides:
            for one in side.advice:
                names.setdefault(one.rule, set()).add(one.name)
        return {rule: next(iter(mine)) for rule, mine in names.items() if len(mine) == 1}

    @property
    def runs(self) -> list[tuple[Side, ReportedRun]]:
        """All runs, each with its side."""
        return [(side, run) for side in self.sides for run in side.runs]
