"""What each host of a fleet has measured, out of the one result of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.units import NS_PER_S, counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from fathom.result import Direction, Result

__all__ = [
    "OUTSIDE_OVERLAP_MOST",
    "HostFigures",
    "host_figures",
    "hosts_in_sum",
    "hosts_words",
    "is_shared_limit",
    "local_host",
    "lost_sentence",
    "overlap_ns",
    "overlap_sentence",
    "rates_sentence",
    "together_ns",
]

OUTSIDE_OVERLAP_MOST = 0.01
"""Where a host measured for a greater share of its time while not all did, that is said."""


_LEAST_SHARE = 0.1


def local_host(number: int) -> str:
    """Return what a host of ``--fleet local:N`` is called, the first by 1."""
    return f"local-{number}"


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
    outside_overlap_ns
        For how long it measured while not all hosts did. What it measured then cannot be taken out
        of histograms, and is in the sum.
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
    outside_overlap_ns: int | None
    lost: str | None


def is_shared_limit(few: tuple[int, float], many: tuple[int, float]) -> bool:
    """Tell whether more hosts brought less than a tenth of what a linear sum would gain.

    Each is the number of hosts, and what they did together.
    """
    return many[1] < few[1] * (1 + _LEAST_SHARE * (many[0] / few[0] - 1))


def host_figures(result: Result) -> list[HostFigures]:
    """Return each host of a fleet, in their order; none if no fleet has measured it.

    Of a run that ended before its load began, none has figures.
    """
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
            outside_overlap_ns=one.get("outside_overlap_ns"),
            lost=one.get("lost"),
        )
        for one in result.raw.get("hosts", ())
    ]


def together_ns(spans: Iterable[tuple[int, int]]) -> int:
    """Return for how long spans, each with its begin and its length, all last at once."""
    known = [*spans]
    return max(0, min(at + length for at, length in known) - max(at for at, _length in known))


def overlap_ns(result: Result) -> int | None:
    """Return for how long all parts of a result measured together; None if it has no parts."""
    parts = [part["time_spans"] for part in result.raw.get("parts", ())]
    spans = [one[0] for one in parts if one]
    pairs = [(int(one["began_unix_ns"]), int(one["measured_ns"])) for one in spans]
    return together_ns(pairs) if pairs else None


def hosts_in_sum(result: Result) -> int:
    """Return how many hosts of a fleet are in the figures of a result; 0 if it is of no fleet."""
    return sum(one.get("lost") is None for one in result.raw.get("hosts", ()))


def hosts_words(counts: Collection[int]) -> str:
    """Return how many hosts there were in runs, such as ``2 hosts`` or ``1 to 2 hosts``."""
    least, most = min(counts), max(counts)
    return counted(most, "host") if least == most else f"{least} to {counted(most, 'host')}"


def rates_sentence(whose: str) -> str:
    """Say whose rates are shown, such as those of ``3 hosts``."""
    return f"Rates are those of {whose} together; each has the threads and depth that are named."


def lost_sentence(host: HostFigures, hosts: Sequence[HostFigures]) -> str:
    """Say of a host that it was lost, and how many of all are left."""
    left = sum(one.lost is None for one in hosts)
    return f"Host {host.name} was lost: {host.lost}; {left} of {len(hosts)} hosts are in the sum."


def overlap_sentence(result: Result) -> str | None:
    """Say for how long all hosts measured together; None if no fleet has measured it."""
    hosts = [one for one in host_figures(result) if one.outside_overlap_ns is not None]
    shared_ns = overlap_ns(result)
    if len(hosts) < 2 or shared_ns is None:  # noqa: PLR2004 - One host is always together.
        return None
    most = max(hosts, key=lambda one: one.outside_overlap_ns or 0)
    beside_ns = most.outside_overlap_ns or 0
    said = f"All {len(hosts)} hosts measured together for {shared_ns / NS_PER_S:.3f} s"
    if beside_ns <= OUTSIDE_OVERLAP_MOST * (shared_ns + beside_ns):
        return f"{said}."
    return (
        f"{said}. Host {most.name} did so for {beside_ns / NS_PER_S:.3f} s more, which is in the "
        "figures: measure for longer, so that it counts for less."
    )


def _totals(result: Result) -> dict[str, Direction]:
    if not result.time_spans:
        return {}
    threads = result.raw["time_spans"][0]["threads"]
    # Lists of runs use this, too, which need no results.
    direction = type(result.total)
    found = {}
    for part in result.raw.get("parts", ()):
        if not part["time_spans"]:
            continue
        span = part["time_spans"][0]
        own = threads[span["first_thread"] : span["first_thread"] + span["threads"]]
        rows = [row[way] for one in own for row in one["targets"] for way in ("read", "write")]
        found[part["host"]["name"]] = direction.merged(rows, span["measured_ns"])
    return found
