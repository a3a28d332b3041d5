"""What a finding is, and what a rule is."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from fathom.findings.causes import NOTHING
from fathom.findings.observed import Confidence, Noticed
from fathom.units import counted, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fathom.findings.observed import TargetEvidence

__all__ = [
    "Case",
    "Confidence",
    "Finding",
    "Noticed",
    "Rule",
    "numbers_words",
]


@dataclass(frozen=True)
class Case:
    """What a finding rests on: a sentence, and the runs (in the store) that it is about."""

    evidence: str
    run_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One thing to know about a target.

    Attributes
    ----------
    rule
        Its name, such as ``past-the-knee``.
    title
        The same in a few words.
    target
        The path that was measured.
    evidence
        A sentence with numbers and units: of one case, if there are several (``shown``).
    remedy
        What to do about it.
    confidence
        How sure the rule is.
    source
        Where the rule comes from.
    cases
        All that was noticed, the surest first, and of these the worst.
    run_count, judged_count
        Of how many runs it is so, and how many were looked at; 0 if it is about all together.
    left_out_count
        How many runs were not looked at, as another cause explains their figures.
    shown
        What of several cases the evidence is: the worst, or the surest where some are surer; empty
        if nobody knows which is worse.

    """

    rule: str
    title: str
    target: str
    evidence: str
    remedy: str
    confidence: Confidence
    source: str
    cases: tuple[Case, ...] = field(default=())
    run_count: int = 0
    judged_count: int = 0
    left_out_count: int = 0
    shown: Literal["", "worst", "surest"] = ""

    @property
    def where(self) -> str:
        """In how many runs it was seen, and in which, in a sentence; empty of a single run."""
        if self.run_count == 0 or self.judged_count + self.left_out_count == 1:
            return ""
        ids = sorted({run for case in self.cases for run in case.run_ids})
        which = f" ({numbers_words(ids)})" if ids else ""
        shown = f"; the {self.shown} is shown" if self.shown else ""
        others = self.left_out_count
        left_out = (
            f" {counted(others, 'other')} {'is' if others == 1 else 'are'} not looked at: another "
            "cause explains the figures."
            if others
            else ""
        )
        return (
            f"In {self.run_count} of {counted(self.judged_count, 'run')}{which}{shown}.{left_out}"
        )


@dataclass(frozen=True)
class Rule:
    """One rule; ``look`` returns what it noticed in the results of one target.

    ``fires_when`` says of which figures, for docs/findings.md, whose table ``catalogue`` draws;
    ``place`` is where it stands: what spoils the numbers stands before what they say.
    ``explained_by`` are kinds of the engine's warnings that explain such figures better than this
    rule does: runs that have one of them are not shown to it. Of Fathom's rules those are all
    causes (``causes.EXPLAINED``), unless a rule says which it may look past, and why.
    """

    name: str
    title: str
    source: str
    look: Callable[[TargetEvidence], Iterable[Noticed]]
    fires_when: str
    place: int
    explained_by: frozenset[str] = NOTHING


def numbers_words(numbers: Sequence[int]) -> str:
    """Return rising numbers in words: ``runs 3, 5 to 9 and 12``."""
    parts = []
    for _, together in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        group = [number for _, number in together]
        if len(group) > 2:  # noqa: PLR2004 - Two stand beside each other.
            parts.append(f"{group[0]} to {group[-1]}")
        else:
            parts += [str(one) for one in group]
    return f"run{'s' if len(numbers) > 1 else ''} {listed(parts)}"
