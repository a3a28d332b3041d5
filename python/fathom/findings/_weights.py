"""How bad it is what the engine warned of, by the numbers of its own sentences."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.findings.observed import Confidence, Noticed, TargetEvidence

__all__ = ["UNKNOWN", "weighed", "weight_of"]

UNKNOWN = -inf
"""The weight of what a sentence does not tell the size of: nobody knows which is the worst."""

_NUMBER = r"((?:\d[\d,]*)?\d(?:\.\d+)?)"
_PERCENT = 100.0


def _numbers(pattern: str) -> Callable[[str], list[list[float]]]:
    """Return what finds the numbers of each match of a pattern, in which ``#`` is a number."""
    compiled = re.compile(pattern.replace("#", _NUMBER))

    def numbers(words: str) -> list[list[float]]:
        found = compiled.finditer(words)
        return [[float(text.replace(",", "")) for text in one.groups()] for one in found]

    return numbers


def _first(pattern: str) -> Callable[[str], float]:
    numbers = _numbers(pattern)
    return lambda words: next((found[0] for found in numbers(words)), UNKNOWN)


def _greatest(pattern: str) -> Callable[[str], float]:
    numbers = _numbers(pattern)
    return lambda words: max((found[0] for found in numbers(words)), default=UNKNOWN)


def _share(pattern: str) -> Callable[[str], float]:
    """Return what divides the sum of the first numbers by that of the second, in percent."""
    numbers = _numbers(pattern)

    def share(words: str) -> float:
        found = numbers(words)
        whole = sum(one[1] for one in found)
        return _PERCENT * sum(one[0] for one in found) / whole if whole else UNKNOWN

    return share


def _network(words: str) -> float:
    """Return the part of a latency that is the network's, in percent."""
    mean, *parts = (one[0] for one in _numbers("# µs")(words)) if "µs" in words else (0.0,)
    return _PERCENT * parts[0] / mean if parts and mean else UNKNOWN


def _missed(words: str) -> float:
    """Return how much of a rate was not delivered, in percent."""
    reached = _first("which is # %")(words)
    return UNKNOWN if reached == UNKNOWN else _PERCENT - reached


def _in_page_cache(words: str) -> float:
    """Return how much the page cache held of what was read, in percent; of writes it had all."""
    if re.search(r"writes? \([^)]*\) ended in the page cache", words):
        return _PERCENT
    return _first("held # %")(words)


_WEIGHTS: dict[str, Callable[[str], float]] = {
    "all_zero_data": _share("# of # places"),
    "allocating_writes": _first("# % of"),
    "compressible_data": _first("# times shorter"),
    "constant_data": _share("# of # places"),
    "cpu_contended": _first("waited # %"),
    "cpu_stolen": _greatest("# %"),
    "cpu_throttled": _first("# %"),
    "extents_changed": _first("lost # %"),
    "idle_between_ios": _first("# %"),
    "io_errors": _share("# of # (?:reads|writes|syncs|trims)"),
    "network_share": _network,
    "no_io_completed": _first(r"in the # s\b"),
    "page_cache": _in_page_cache,
    "rate_not_reached": _missed,
    "reconnected": _first(r"(?:after|for|than) # s\b"),
    "retransmits": _first("# segments?"),
    "server_window": _share("# I/Os per connection .* takes # at once"),
    "shared_sequential_blocks": _share("# of # threads"),
    "small_working_set": _first("read # times"),
    "stalled": _first(r"waited # s\b"),
    "stalled_at_end": _first(r"the oldest for # s\b"),
    "suspended": _first("did not run for #"),
    "unwritten_extents": _first("# % of"),
}
"""By the kind of a warning, what returns its weight; all kinds of a rule have the same unit."""


def weight_of(kind: str, words: str) -> float:
    """Return how bad it is what a sentence of this kind says; ``UNKNOWN`` if it does not tell."""
    weight = _WEIGHTS.get(kind)
    return UNKNOWN if weight is None else weight(words)


def weighed(evidence: TargetEvidence, confidence: Confidence, *kinds: str) -> list[Noticed]:
    """Return what warnings of these kinds notice, each with its weight."""
    return [
        replace(one, weight=weight_of(kind, one.evidence))
        for kind in kinds
        for one in evidence.warned(confidence, kind)
    ]
