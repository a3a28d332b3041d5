"""Working set too small: caches of drives and hosts hold all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOT_THE_DEVICE
from fathom.findings.finding import Noticed, Rule
from fathom.units import counted, size_words

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
    if _is_less(greatest.load.working_set_bytes, least):
        words = "the host's memory and " if cached else ""
        yield Noticed(
            f"The greatest working set{_left_out_words(evidence.left_out_count)} was "
            f"{greatest.working_set_words}; {words}the cache of a drive or array "
            f"may hold {size_words(least)}.",
            f"Measure at least {size_words(least)}, better three quarters of the device.",
            "possible",
        )


def _is_less(size_bytes: int, least_bytes: int) -> bool:
    """Whether a size is less than another in words, too: what a stride leaves out is no matter."""
    return size_bytes < least_bytes and size_words(size_bytes) != size_words(least_bytes)


def _left_out_words(count: int) -> str:
    return f", without {counted(count, 'run')} that the device did not answer," if count else ""


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
