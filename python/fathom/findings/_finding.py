"""What a finding is, and what a rule is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fathom.findings._observed import TargetEvidence

__all__ = ["Confidence", "Finding", "Noticed", "Rule"]

Confidence = Literal["certain", "likely", "possible"]
"""Certain: counted or told by the kernel. Likely: other causes are rare. Possible: others exist."""


@dataclass(frozen=True)
class Noticed:
    """What a rule noticed: a sentence with numbers and units, and what to do about it."""

    evidence: str
    remedy: str
    confidence: Confidence


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
        A sentence with numbers and units.
    remedy
        What to do about it.
    confidence
        How sure the rule is.
    source
        Where the rule comes from.

    """

    rule: str
    title: str
    target: str
    evidence: str
    remedy: str
    confidence: Confidence
    source: str


@dataclass(frozen=True)
class Rule:
    """One rule; ``look`` returns what it noticed in the results of one target."""

    name: str
    title: str
    source: str
    look: Callable[[TargetEvidence], Iterable[Noticed]]
