"""Hosts of a fleet that did not measure together, or are not alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import OUTSIDE_OVERLAP_MOST, host_figures
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.findings.observed import TargetEvidence
    from fathom.hosts import HostFigures

__all__ = ["RULE"]

_REMEDY_CLOCK = "Let one service keep all clocks (chrony, PTP), and do not set them meanwhile."


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell what was not measured together, clocks that were set, and systems that differ."""
    for one in evidence.observed:
        hosts = host_figures(one.result)
        measured_ns = one.result.time_spans[0].measured_ns
        for words, remedy, weight in (*_apart(hosts, measured_ns), *_moved(hosts), *_unlike(hosts)):
            yield Noticed(words, remedy, "certain", (one,), weight)


def _apart(hosts: Sequence[HostFigures], measured_ns: int) -> Iterator[tuple[str, str, float]]:
    """Tell the host that measured for the longest time without all others, if that is much."""
    known = [host for host in hosts if host.lost is None]
    last = max(known, key=_outside_ns, default=None)
    outside_ns = 0 if last is None else _outside_ns(last)
    if last is not None and outside_ns > OUTSIDE_OVERLAP_MOST * measured_ns > 0:
        late = max(known, key=lambda host: host.start_skew_ns or 0)
        began = (
            f"; host {late.name} began {late.start_skew_ns / NS_PER_MS:.1f} ms later than the first"
            if late.start_skew_ns
            else ""
        )
        words = (
            f"Host {last.name} measured for {outside_ns / NS_PER_MS:.1f} ms while not all did, "
            f"{100 * outside_ns / measured_ns:.1f} % of the measured time{began}."
        )
        remedy = "Measure for longer, or look for what keeps hosts from running."
        yield words, remedy, outside_ns / measured_ns


def _outside_ns(host: HostFigures) -> int:
    """Return it; of results that do not tell it, how late the host began."""
    return (host.start_skew_ns or 0) if host.outside_overlap_ns is None else host.outside_overlap_ns


def _moved(hosts: Sequence[HostFigures]) -> Iterator[tuple[str, str, float]]:
    for host in hosts:
        if abs(host.clock_moved_ns) > NS_PER_MS:
            moved = f"{host.clock_moved_ns / NS_PER_MS:+.1f} ms"
            yield (
                f"The clock of host {host.name} moved by {moved} during the run.",
                _REMEDY_CLOCK,
                1,
            )


def _unlike(hosts: Sequence[HostFigures]) -> Iterator[tuple[str, str, float]]:
    for what in ("version", "kernel"):
        found = {getattr(host, what): host.name for host in hosts if getattr(host, what)}
        if len(found) > 1:
            told = ", ".join(f"{name} has {value}" for value, name in found.items())
            yield f"The hosts differ in their {what}: {told}.", f"Give all hosts one {what}.", 0.1


RULE = Rule(
    "hosts-apart",
    "Hosts measured apart, or are not alike",
    "Fathom: round trips before and behind each run of a fleet",
    _look,
    # It is about the hosts, whatever explains the figures.
    explained_by=NOTHING,
    fires_when="A host of a fleet measured for 1 % of the measured time or more while not all did, "
    "its clock moved by more than 1 ms, or kernels differ.",
    place=310,
)
