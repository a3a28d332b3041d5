"""Drive or array cache: small working sets are answered much faster than large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

_STEP = 1.5


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for family in evidence.families("working_set_bytes"):
        timed = [(one, one.mean_ns) for one in family if one.load.is_direct]
        known = [(one, mean_ns) for one, mean_ns in timed if mean_ns is not None]
        if len({one.load.working_set_bytes for one, _ in known}) < 2:  # noqa: PLR2004 - A step.
            continue
        sizes = [one.load.working_set_bytes for one, _ in known]
        # Of runs of one load, those that are nearest to each other: it holds for any of them.
        small, small_ns = max(
            (pair for pair in known if pair[0].load.working_set_bytes == min(sizes)),
            key=lambda pair: pair[1],
        )
        large, large_ns = min(
            (pair for pair in known if pair[0].load.working_set_bytes == max(sizes)),
            key=lambda pair: pair[1],
        )
        if large_ns >= _STEP * small_ns:
            yield Noticed(
                f"{large.load.words()} took {time_words(small_ns)} within "
                f"{small.working_set_words}, and {time_words(large_ns)} within "
                f"{large.working_set_words}, both past the page cache.",
                "Measure with a working set as large as the application's, and larger than the "
                "cache of drive and array.",
                "likely",
                (small, large),
                large_ns / small_ns,
            )


RULE = Rule(
    "device-cache",
    "A cache of the drive or array was measured",
    "J. Barreto, DiskSpd, PowerShell and storage performance (2014): file size and caches",
    _look,
    # What fills a core is the small working set: that explains nothing of the large one.
    explained_by=EXPLAINED - CORE_AT_ITS_LIMIT,
    fires_when=(
        "Past the page cache, the largest working set takes 1.5 times as long as the smallest."
    ),
    place=200,
)
