"""Not enough outstanding I/O: throughput still grew with the last step of the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.findings.rules.provisioned_limit import at_a_limit
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

# Throughput grows with this power of the load at least; a device at its limit has 0.
_LEAST_POWER = 0.5
_LEAST_STEP = 1.5
# Of a wider step nobody knows where between its ends the growth was.
_MOST_STEP = 8


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Look at the last step of each family, unless it ended at a limit that somebody set."""
    limited = {id(one) for one in at_a_limit(evidence)}
    for family in evidence.families("depth"):
        free = [one for one in family if not one.load.is_paced]
        ordered = sorted(free, key=lambda one: one.load.outstanding)
        if len(ordered) > 1 and id(ordered[-1]) not in limited and _still_grew(ordered):
            yield _noticed(*ordered[-2:])


def _still_grew(ordered: Sequence[Observed]) -> bool:
    before, last = ordered[-2:]
    step = last.load.outstanding / before.load.outstanding
    # A run that somebody disturbed makes the one behind it look like growth.
    is_greatest = last.iops >= max(one.iops for one in ordered)
    is_step = _LEAST_STEP <= step <= _MOST_STEP
    return is_step and is_greatest and last.iops / before.iops >= step**_LEAST_POWER


def _noticed(before: Observed, last: Observed) -> Noticed:
    return Noticed(
        f"{last.load.words()}: from {before.load.outstanding} to {last.load.outstanding} "
        f"outstanding I/Os{last.load.where} the rate still grew from {rate_words(before.iops)} to "
        f"{rate_words(last.iops)} IOPS.",
        f"Allow more outstanding I/O ({last.depth_flag}) or threads ({last.threads_flag}): this is "
        "not yet the device's greatest rate.",
        "likely",
        (before, last),
        last.iops / before.iops,
    )


RULE = Rule(
    "not-enough-outstanding",
    "The device was not loaded to its limit",
    "Little's law; Microsoft, DiskSpd command line: -o and -t",
    _look,
    explained_by=EXPLAINED,
    fires_when=(
        "With the last step of the depth (1.5 to 8 times), the rate grew by at least the step's"
        " square root, and no limit ended it (`provisioned-limit`)."
    ),
    place=280,
)
