"""Nothing completed: there is no figure of the run, and no other rule judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Noticed, Rule
from fathom.units import NS_PER_S

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


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell each run without an I/O; the engine knows more of why, if it warned."""
    for one in evidence.silent:
        told = [known for known in one.result.warnings if known.kind == "no_io_completed"]
        span = one.result.time_spans[0]
        others = "" if told else _others(span)
        failed = f", and {span.total.errors:,} failed" if span.total.errors else ""
        what = "read or write" if others else "I/O"
        words = f"No {what} completed in {span.measured_ns / NS_PER_S:.1f} s{failed}{others}."
        yield Noticed(
            told[0].evidence if told else words,
            told[0].remedy if told else _OF_OTHERS if others and not failed else _REMEDY,
            "certain",
            (one,),
            title="No read or write completed" if others else "",
        )


def _others(span: TimeSpan) -> str:
    """Return what completed beside reads and writes; nothing if that was nothing."""
    counts = {"trim": span.trim.ios, "sync": span.sync.ios}
    told = [f"{ios:,} {name}{'' if ios == 1 else 's'}" for name, ios in counts.items() if ios]
    return f"; {' and '.join(told)} did" if told else ""


RULE = Rule(
    "nothing-completed",
    "No I/O completed",
    "Fathom: a figure needs an I/O; the engine's warning no_io_completed",
    _look,
    fires_when=(
        "No read or write completed in the measured time. It says how many trims and syncs did."
    ),
    place=5,
)
