"""Not the device: memory, a cache or a layer above the device answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom._beneath import FirstLayer
from fathom.findings._weights import weighed
from fathom.findings.causes import NOTHING
from fathom.findings.finding import Rule
from fathom.units import size_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom._beneath import Reached
    from fathom.findings.finding import Noticed
    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

_NAMED = (
    "Memory and no device answered",
    "Memory and swap answered",
    "No storage was touched",
)
"""How the engine's sentence begins where it is known who answered: headlines name it."""

_REACHED = 0.9
"""A layer that saw less of the bytes than this was not reached by all, as the engine has it."""


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: it read the counters of every layer."""
    for one in weighed(evidence, "certain", "not_the_device"):
        known = (title for title in _NAMED if one.evidence.startswith(title))
        own = _by_the_file_system(one.runs[0])
        told = one if own is None else replace(one, evidence=own[0], remedy=own[1])
        yield replace(told, title=next(known, ""))


def _by_the_file_system(run: Observed) -> tuple[str, str] | None:
    """Say that the file system answered what did not reach even the first layer beneath it.

    No layer further down can have kept it, whatever is set there.
    """
    if not run.load.is_direct:
        return None
    for first in FirstLayer.all_of(run.result.raw["time_spans"][0]):
        words = "; ".join(filter(None, (_missed(one, first.name) for one in first.reached)))
        if words and (first.system == "btrfs" or not first.is_last):
            return _words(first.system, words)
    return None


def _missed(one: Reached, layer: str) -> str:
    """Return how much of what was asked a layer saw, unless it saw all."""
    if one.bytes >= _REACHED * one.asked_bytes:
        return ""
    return (
        f"of {one.asked_ios:,} {one.kind}s ({size_words(one.asked_bytes)}), {one.ios:,} "
        f"({size_words(one.bytes)}) reached even {layer}, the first layer beneath the file system"
    )


def _words(system: str, missed: str) -> tuple[str, str]:
    how = "from its cache or its map of the file"
    remedy = "write the whole range once with random data (-w100 -Zr)"
    if system == "btrfs":
        how = (
            "as compressed extents go through its own cache in spite of O_DIRECT, and holes have "
            "no blocks"
        )
        remedy = (
            "measure a file that was written whole and without compression (chattr +m before it is "
            "written, or a mount without compress)"
        )
    return (
        f"{missed[:1].upper()}{missed[1:]}: {system} itself answered the rest, {how}.",
        f"{remedy[:1].upper()}{remedy[1:]}, or read the figures as those of {system}.",
    )


RULE = Rule(
    "not-the-device",
    "Something else than the device answered",
    "Linux kernel documentation, I/O statistics fields; the engine's warning not_the_device",
    _look,
    explained_by=NOTHING,
    fires_when=(
        "The counters of the layers beneath the target saw less than nine tenths of the bytes, or "
        "fewer fetches than nine tenths of reads at random places through the page cache; or it "
        "lies in memory."
    ),
    place=10,
)
