"""Working set too small: caches of drives and hosts hold all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOT_THE_DEVICE
from fathom.findings.finding import Noticed, Rule
from fathom.units import size_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

# Drives have up to some GiB of memory of their own: a thousandth of their size.
_LEAST_BYTES = 4 << 30


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Judge the greatest working set that was measured."""
    if not evidence.observed:
        return
    greatest = max(evidence.observed, key=lambda one: one.load.working_set_bytes)
    cached = not any(one.load.is_direct for one in evidence.observed)
    least = max(_LEAST_BYTES, 2 * evidence.memory_bytes if cached else 0)
    if greatest.load.working_set_bytes < least:
        which = "of the runs that the device answered " if evidence.left_out_count else ""
        words = "the host's memory and " if cached else ""
        yield Noticed(
            f"The greatest working set {which}was {greatest.working_set_words}; {words}"
            f"the cache of a drive or array may hold {size_words(least)}.",
            f"Measure at least {size_words(least)}, better three quarters of the device.",
            "possible",
        )


RULE = Rule(
    "working-set-small",
    "The working set is small",
    "SNIA SSS PTS 2.0.2: ActiveRange of 75 % (client) or 100 % (enterprise)",
    _look,
    # It is about the load: a run that was disturbed, or went through the page cache, has one, too.
    explained_by=NOT_THE_DEVICE,
    fires_when=(
        "The greatest working set is below 4 GiB; through the page cache, below twice the memory."
    ),
    place=210,
)
