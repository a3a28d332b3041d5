"""Not the device: memory, a cache or a layer above the device answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Rule
from fathom.units import size_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    for one in evidence.warned("certain", "not_the_device"):
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
    beneath = run.result.raw["time_spans"][0].get("beneath") or {}
    for target in beneath.get("targets", ()):
        layers = [beneath["layers"][at] for at in target["layers"]]
        system = next(iter(layers), None)
        first = next((one for one in layers if one["seen"] is not None), None)
        if system is None or first is None or system["kind"] != "file_system":
            continue
        missed = [_missed(kind, target["asked"], first) for kind in ("read", "write")]
        words = "; ".join(one for one in missed if one)
        is_the_last = first is layers[-1]
        if words and (system["name"] == "btrfs" or not is_the_last):
            return _words(system["name"], words)
    return None


def _missed(kind: str, asked: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """Return how much of what was asked the first layer saw, unless it saw all."""
    ios, total, seen = asked[f"{kind}_ios"], asked[f"{kind}_bytes"], first["seen"]
    if seen[f"{kind}_bytes"] >= _REACHED * total:
        return ""
    return (
        f"of {ios:,} {kind}s ({size_words(total)}), {seen[f'{kind}_ios']:,} "
        f"({size_words(seen[f'{kind}_bytes'])}) reached even {first['name']}, the first layer "
        "beneath the file system"
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
        "The counters of the layers beneath the target saw less than nine tenths of the bytes, "
        "or it lies in memory."
    ),
    place=10,
)
