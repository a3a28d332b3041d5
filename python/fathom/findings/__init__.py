"""Findings: what results say about the storage, and about how far to believe them.

One rule per file. A rule looks at all results of one target and tells what it noticed; all of that
is one finding, with the evidence of the worst case in numbers, a confidence and a remedy.

>>> import fathom
>>> from fathom.findings import find
>>> result = fathom.run("-c1M -b8K -r -d1 -W0 -L scratch.dat")
>>> all(one.remedy for one in find([result]))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom._asked import Way
    from fathom.findings.causes import EXPLAINED
    from fathom.findings.finding import Case, Confidence, Finding, Noticed, Rule
    from fathom.findings.observed import Load, Observed, TargetEvidence, raid_level
    from fathom.findings.search import RULES, find

__all__ = [
    "EXPLAINED",
    "RULES",
    "Case",
    "Confidence",
    "Finding",
    "Load",
    "Noticed",
    "Observed",
    "Rule",
    "TargetEvidence",
    "Way",
    "find",
    "raid_level",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
