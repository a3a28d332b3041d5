"""Not enough outstanding I/O: throughput still grew with the last step of the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

# Throughput grows with this power of the load at least; a device at its limit has 0.
_LEAST_POWER = 0.5
_LEAST_STEP = 1.5
# Of a wider step nobody knows where between its ends the growth was.
_MOST_STEP = 8


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for family in evidence.families("depth"):
        free = [one for one in family if not one.load.is_paced]
        ordered = sorted(free, key=lambda one: one.load.outstanding)
        if len(ordered) < 2:  # noqa: PLR2004 - A step has two ends.
            continue
        before, last = ordered[-2:]
        step = last.load.outstanding / before.load.outstanding
        gain = last.iops / before.iops
        # A run that somebody disturbed makes the one behind it look like growth.
        is_greatest = last.iops >= max(one.iops for one in free)
        if _LEAST_STEP <= step <= _MOST_STEP and gain >= step**_LEAST_POWER and is_greatest:
            yield Noticed(
                f"{last.load.words()}: from {before.load.outstanding} to "
                f"{last.load.outstanding} outstanding I/Os the rate still grew from "
                f"{rate_words(before.iops)} to {rate_words(last.iops)} IOPS.",
                "Allow more outstanding I/O (-o) or threads (-t): this is not yet the device's "
                "greatest rate.",
                "likely",
                (before, last),
                gain,
            )


RULE = Rule(
    "not-enough-outstanding",
    "The device was not loaded to its limit",
    "Little's law; Microsoft, DiskSpd command line: -o and -t",
    _look,
    explained_by=EXPLAINED,
    fires_when=(
        "With the last step of the depth (1.5 to 8 times), the rate grew by at least the step's"
        " square root."
    ),
    place=280,
)
