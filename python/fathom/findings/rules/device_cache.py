"""Drive or array cache: small working sets are answered much faster than large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import HOST_IN_THE_WAY, OTHERS_ANSWERED, STALLED_AT_END, Noticed, Rule
from fathom.units import size_words, time_words

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
        known.sort(key=lambda pair: pair[0].load.working_set_bytes)
        (small, small_ns), (large, large_ns) = known[0], known[-1]
        if large_ns >= _STEP * small_ns:
            yield Noticed(
                f"{large.load.words()} took {time_words(small_ns)} within "
                f"{size_words(small.load.working_set_bytes)}, and {time_words(large_ns)} within "
                f"{size_words(large.load.working_set_bytes)}, both past the page cache.",
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
    explained_by=OTHERS_ANSWERED | HOST_IN_THE_WAY | STALLED_AT_END,
    fires_when=(
        "Past the page cache, the largest working set takes 1.5 times as long as the smallest."
    ),
    place=200,
)
