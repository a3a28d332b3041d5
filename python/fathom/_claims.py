"""Sentences with numbers, each with what it rests on.

Verdicts, headlines and findings are made of claims, and whatever shows them (text, page, JSON,
Markdown) shows the same sentence. So a sentence can be computed again from the store, and what
speaks against its numbers stands beside it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "BEST_WORDS",
    "CONFIDENCES",
    "FORBIDDING",
    "MARKS",
    "WEAKENING",
    "Claim",
    "Doubt",
    "Evidence",
    "ToldRun",
    "ToldRuns",
    "Unit",
    "doubts_of",
    "mark_of",
    "within_sentence",
]

CONFIDENCES = ("certain", "likely", "possible")
"""How sure a finding is, from the surest to the least."""

BEST_WORDS = "the best, or not shown to be 5 % worse"
"""What the mark at the best of several targets means."""

Unit = Literal["ns", "IOPS", "MiB/s"]

FORBIDDING = (
    "not-the-device",
    "no-device-seen",
    "page-cache",
    "null-data",
    "cached-by-device",
    "io-limited",
    "cpu-throttled",
    "too-good",
)
"""Findings which say that the numbers are not the device's: nothing may be concluded of it."""

WEAKENING = (
    "constant-data",
    "server-answered",
    "stalled",
    "extents-changed",
    "cpu-contended",
    "cpu-taken-away",
    "core-bound",
    "suspended",
    "noisy-neighbour",
    "not-steady",
    "burst-credits",
    "provisioned-limit",
    "host-lost",
    "io-errors",
    "idle-between-ios",
    "shared-blocks",
    "no-room",
    "network-loss",
    "reconnected",
    "allocating-writes",
    "server-window",
    "resized",
)
"""Findings which say that the numbers may differ another time, or are a limit's, or lack a host."""

MARKS = {
    **dict(zip(FORBIDDING, "ABCDEFGH", strict=True)),
    **dict(zip(WEAKENING, "abcdefghijklmnopqrstuv", strict=True)),
}
"""A letter for each rule, the same in all tables: a capital where it forbids a judgement."""

_NO_NUMBER = re.compile(r"\b(nan|inf)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Evidence:
    """A figure on which a claim rests.

    Attributes
    ----------
    run_id
        In the store; None where runs are not saved.
    name
        Such as ``iops``, ``mib_per_s`` or ``latency_mean_ns``: that of the store's column.
    value, unit
        As measured.
    threads, depth, caching
        Under which conditions; None where nobody knows.

    """

    run_id: int | None
    name: str
    value: float
    unit: Unit
    threads: int | None = None
    depth: int | None = None
    caching: str | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence, and what it rests on.

    ``weakened_by`` and ``forbidden_by`` are the rules of findings that speak against it; what is
    forbidden by one makes no judgement in its text.
    """

    key: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    weakened_by: tuple[str, ...] = ()
    forbidden_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        wrong = [one for one in self.evidence if not math.isfinite(one.value)]
        if wrong or _NO_NUMBER.search(self.text):
            raise ValueError(f"a claim of what is not known: {self.text} {wrong}")


def mark_of(rules: Iterable[str]) -> str:
    """Return the letters of the rules that speak against figures, such as ``Ad``."""
    found = {*rules}
    return "".join(mark for rule, mark in MARKS.items() if rule in found)


def within_sentence(title: str) -> str:
    """Return a title as it stands within a sentence; an abbreviation keeps its capitals."""
    is_word = title[1:2].islower() or title[1:2] == " "
    return f"{title[:1].lower()}{title[1:]}" if is_word else title


def doubts_of(rules: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of these rules weaken a claim, and which forbid it."""
    found = tuple(dict.fromkeys(rules))
    return (
        tuple(one for one in found if one in WEAKENING),
        tuple(one for one in found if one in FORBIDDING),
    )


@dataclass(frozen=True)
class Doubt:
    """A finding about one run that speaks against its figures.

    ``evidence`` is its sentence, of which one that is compared needs no more than the rest.
    """

    rule: str
    title: str
    confidence: str
    evidence: str = field(default="", compare=False)

    @property
    def is_sure(self) -> bool:
        """Whether it stands in headlines: what has other causes, too, does not, but for data."""
        return self.confidence != "possible" or self.rule == "constant-data"

    @property
    def words(self) -> str:
        """The title within a sentence, with how sure it is."""
        return f"{within_sentence(self.title)} ({self.confidence})"


@dataclass(frozen=True)
class ToldRun:
    """A run on which claims rest: how it was asked, and what speaks against its figures.

    Of one with several time spans, all that is of the first.
    """

    threads: int
    depth: int
    caching: str
    doubts: tuple[Doubt, ...] = ()
    time_spans: int = 1

    @property
    def rules(self) -> list[str]:
        """The rules that speak against its figures: what its row is marked with."""
        return [one.rule for one in self.doubts]


@dataclass(frozen=True)
class ToldRuns:
    """The runs of an experiment by their ids, as far as they are known, and claims about them."""

    by_id: Mapping[int, ToldRun] = field(default_factory=dict)

    def doubts(self, run_ids: Iterable[int | None], *, forbids: bool) -> tuple[Doubt, ...]:
        """Return what surely forbids a judgement on these runs, or what weakens it, each once."""
        rules = FORBIDDING if forbids else WEAKENING
        known = [self.by_id[one] for one in run_ids if one is not None and one in self.by_id]
        found = {
            (one.rule, one.confidence): one
            for run in known
            for one in run.doubts
            if one.rule in rules and one.is_sure
        }
        return tuple(found.values())

    def of_time_spans(self) -> tuple[Claim, ...]:
        """Say of which time span the figures are, if a run has several."""
        if all(one.time_spans == 1 for one in self.by_id.values()):
            return ()
        words = (
            "The load has several time spans, and these are the figures of the first; fathom show "
            "RUN has those of each."
        )
        return (Claim("time-spans", words),)

    def legend(self) -> list[Doubt]:
        """Return what each mark of a table of these runs means: the surest of each rule."""
        found: dict[str, Doubt] = {}
        for one in sorted(
            (doubt for run in self.by_id.values() for doubt in run.doubts),
            key=lambda doubt: CONFIDENCES.index(doubt.confidence),
        ):
            found.setdefault(one.rule, one)
        return [found[rule] for rule in MARKS if rule in found]

    def evidence(self, run_id: int | None, name: str, value: float, unit: Unit) -> Evidence:
        """Return a figure of a run with the conditions under which it was measured."""
        run = None if run_id is None else self.by_id.get(run_id)
        if run is None:
            return Evidence(run_id, name, value, unit)
        return Evidence(run_id, name, value, unit, run.threads, run.depth, run.caching)

    def claim(
        self, key: str, judged: str, evidence: Iterable[Evidence] = (), *, plain: str = ""
    ) -> Claim:
        """Return a claim; where a finding forbids a judgement, its text is ``plain``, if given."""
        rests = tuple(evidence)
        ids = [one.run_id for one in rests]
        weak = tuple(one.rule for one in self.doubts(ids, forbids=False))
        forbidding = tuple(one.rule for one in self.doubts(ids, forbids=True))
        text = plain if forbidding and plain else judged
        return Claim(key, text, rests, tuple(dict.fromkeys(weak)), tuple(dict.fromkeys(forbidding)))

    def headline(self, judged: str, plain: str, evidence: Iterable[Evidence]) -> Claim:
        """Return the first sentence: what speaks against its figures stands in it.

        ``judged`` and ``plain`` have no full stop; ``plain`` only tells numbers.
        """
        rests = tuple(evidence)
        ids = [one.run_id for one in rests]
        forbidding = self.doubts(ids, forbids=True)
        weak = "; ".join(one.words for one in self.doubts(ids, forbids=False))
        but = f"; but {weak}" if weak else ""
        if forbidding:
            why = "; ".join(one.words for one in forbidding)
            text = f"No verdict on a device, as these are not its numbers: {why}. {plain}{but}."
            return self.claim("headline", text, rests)
        return self.claim("headline", f"{judged}{but}.", rests)
