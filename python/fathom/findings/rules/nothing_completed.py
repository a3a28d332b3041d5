"""Nothing completed: there is no figure of the run, and no other rule judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Noticed, Rule
from fathom.units import NS_PER_S, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence
    from fathom.result import TimeSpan

__all__ = ["RULE"]

_REMEDY = (
    "Measure for longer than one I/O takes (-d), see whether the target answers at all, and read "
    "why I/Os failed, if any did."
)
_OF_OTHERS = (
    "Read how long they took in the result itself: no other rule judges a load without reads and "
    "writes."
)
_OF_FAILED = (
    "Read why I/Os failed: the result counts them by operation and kind. Measure again when none "
    "fails."
)


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell each run without an I/O; the engine knows more of why, if it warned."""
    for one in evidence.silent:
        told = [known for known in one.result.warnings if known.kind == "no_io_completed"]
        others = "" if told else _others(one.result.time_spans[0])
        yield Noticed(
            told[0].evidence if told else _words(one.result.time_spans[0]),
            told[0].remedy if told else _remedy(one.result.time_spans[0]),
            "certain",
            (one,),
            title="No read or write completed" if others else "",
        )


def _words(span: TimeSpan) -> str:
    """Say what completed beside reads and writes, and what failed of all."""
    within = f"completed in {span.measured_ns / NS_PER_S:.1f} s"
    others, failed = _others(span), _failed(span)
    if others:
        also = f", and {failed} failed" if failed else ""
        return f"No read or write {within}; {others} did{also}."
    return f"No I/O {within}{failed and f': all that came back failed ({failed})'}."


def _remedy(span: TimeSpan) -> str:
    if _failed(span):
        return _OF_FAILED
    return _OF_OTHERS if _others(span) else _REMEDY


def _others(span: TimeSpan) -> str:
    """Return what completed beside reads and writes; nothing if that was nothing."""
    return _counts(trim=span.trim.ios, sync=span.sync.ios)


def _failed(span: TimeSpan) -> str:
    """Return what failed; nothing if that was nothing."""
    errors = {"read": span.read.errors, "write": span.write.errors}
    return _counts(**errors, trim=span.trim.errors, sync=span.sync.errors)


def _counts(**ios: int) -> str:
    """Return counts by their nouns in words, without those that are 0."""
    told = [f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in ios.items() if count]
    return listed(told or [""])


RULE = Rule(
    "nothing-completed",
    "No I/O completed",
    "Fathom: a figure needs an I/O; the engine's warning no_io_completed",
    _look,
    fires_when=(
        "No read or write completed in the measured time. It says how many trims and syncs did, "
        "and what failed."
    ),
    place=5,
)
