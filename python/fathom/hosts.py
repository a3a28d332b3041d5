"""What each host of a fleet has measured, out of the one result of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.result import Direction

if TYPE_CHECKING:
    from fathom.result import Result

__all__ = ["HostFigures", "host_figures"]


@dataclass(frozen=True)
class HostFigures:
    """One host of a fleet.

    Attributes
    ----------
    name
        In the fleet.
    total
        Its reads and writes in the first time span; None if it was lost before it told any.
    version, kernel
        Of its tool and its system.
    clock_offset_ns, clock_uncertainty_ns, clock_moved_ns
        How far its clock was ahead, how far that may be off, and how far it moved during the run.
    start_skew_ns
        How much later than the first host its load began.
    lost
        Why it was lost; None if it was not.

    """

    name: str
    total: Direction | None
    version: str
    kernel: str
    clock_offset_ns: int
    clock_uncertainty_ns: int
    clock_moved_ns: int
    start_skew_ns: int | None
    lost: str | None


def host_figures(result: Result) -> list[HostFigures]:
    """Return each host of a fleet, in their order; none if no fleet has measured it."""
    measured = _totals(result)
    return [
        HostFigures(
            name=one["name"],
            total=measured.get(one["name"]),
            version=one["version"],
            kernel=one["kernel"],
            clock_offset_ns=one["clock_offset_ns"],
            clock_uncertainty_ns=one["clock_uncertainty_ns"],
            clock_moved_ns=one.get("clock_moved_ns", 0),
            start_skew_ns=one.get("start_skew_ns"),
            lost=one.get("lost"),
        )
        for one in result.raw.get("hosts", ())
    ]


def _totals(result: Result) -> dict[str, Direction]:
    threads = result.raw["time_spans"][0]["threads"]
    found = {}
    for part in result.raw.get("parts", ()):
        span = part["time_spans"][0]
        own = threads[span["first_thread"] : span["first_thread"] + span["threads"]]
        rows = [row[way] for one in own for row in one["targets"] for way in ("read", "write")]
        found[part["host"]["name"]] = Direction.merged(rows, span["measured_ns"])
    return found
