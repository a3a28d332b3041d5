"""The page cache: whether it answered, by what the layers beneath the target saw of the load."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom._beneath import FirstLayer, Origin, caches_in_pages, first_fetches, first_shares
from fathom.findings._weights import weighed
from fathom.findings.causes import NOTHING
from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Confidence, Noticed, Observed, TargetEvidence

__all__ = ["RULE"]

_MEASURED = "The page cache was measured"
_MAY_HAVE = "The page cache may have answered"

_REACHED = 0.9
"""A layer that saw less of the bytes than this was not reached by all, as the engine has it."""
_HARDLY = 0.1
"""Compression alone makes bytes fewer, and hardly to less than this share."""
_MOST_HELD_PERCENT = 50.0
"""Where the cache held more than this of what was read, it answered most of it."""

_ALL_PERCENT = 100
_HELD = re.compile(r"held ([\d.]+) %")


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for one in weighed(evidence, "possible", "page_cache"):
        (run,) = one.runs
        origin = next(iter(run.result.time_spans[0].origins), None)
        sure = _confidence(run, one.evidence, origin)
        title = _MAY_HAVE if sure == "possible" or run.load.is_direct else _MEASURED
        yield replace(
            one, confidence=sure, title=title, evidence=_with_counters(one.evidence, origin)
        )


def _with_counters(words: str, origin: Origin | None) -> str:
    """Return a sentence with what the counters say, unless it says that already."""
    if origin is None or origin.sentence.casefold() in words.casefold():
        return words
    return f"{words} {origin.sentence}."


def _confidence(run: Observed, words: str, origin: Origin | None) -> Confidence:
    """Return how sure it is that the cache answered what a warning is about."""
    kind = "write" if re.search(r"\bwrites? \(.*\bended\b", words) else "read"
    if origin is not None and origin.answered_by == "unseen":
        # A server decides what becomes of its file.
        return "possible"
    if run.load.is_direct:
        # A loop device goes through the cache, and what came past that nobody counts.
        return "likely"
    if _missed(run, kind) and caches_in_pages(run.result.raw["time_spans"][0]):
        return "certain"
    if kind == "write":
        # It was done when it was in the cache, wherever its bytes went later.
        return "likely"
    held = _HELD.search(words)
    is_device = origin is not None and origin.answered_by == "device"
    mostly = held is not None and float(held[1]) > _MOST_HELD_PERCENT
    return "likely" if mostly and not is_device else "possible"


def _missed(run: Observed, kind: str) -> bool:
    """Whether the first layer beneath the target did not see the I/Os."""
    span = run.result.raw["time_spans"][0]
    # Compression alone makes bytes fewer.
    is_compressing = any(one.system == "btrfs" for one in FirstLayer.all_of(span))
    least = _HARDLY if is_compressing else _REACHED
    if any(share < least for share in first_shares(span, kind)):
        return True
    # Reads ahead of what follows are fetched together, and each read may have waited for its own.
    is_random = run.load.random_percent == _ALL_PERCENT
    is_each_fetched = kind == "read" and is_random and not is_compressing
    return is_each_fetched and any(share < _REACHED for share in first_fetches(span))


RULE = Rule(
    "page-cache",
    "The page cache may have answered",
    "open(2), O_DIRECT; Linux kernel documentation, I/O statistics fields; the engine's warning "
    "page_cache",
    _look,
    explained_by=NOTHING,
    fires_when=(
        "The engine saw reads or writes go through the page cache. Certain where the counters of "
        "the first layer saw less than nine tenths of the bytes (of btrfs, which may compress "
        "them, less than a tenth), or fewer fetches than nine tenths of reads at random places, "
        "and the file system caches in pages; likely of other writes that ended there, of reads of "
        "which the cache held more than half, and of loop devices that go through it; else "
        "possible."
    ),
    place=100,
)
