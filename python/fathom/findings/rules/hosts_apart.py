"""Hosts of a fleet that did not measure together, or are not alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.findings.observed import TargetEvidence
    from fathom.hosts import HostFigures

__all__ = ["RULE"]

_APART = 0.01
_REMEDY_CLOCK = "Let one service keep all clocks (chrony, PTP), and do not set them meanwhile."


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell skew, clocks that were set, and systems that differ."""
    for one in evidence.observed:
        hosts = host_figures(one.result)
        measured_ns = one.result.time_spans[0].measured_ns
        for words, remedy, weight in (*_late(hosts, measured_ns), *_moved(hosts), *_unlike(hosts)):
            yield Noticed(words, remedy, "certain", (one,), weight)


def _late(hosts: Sequence[HostFigures], measured_ns: int) -> Iterator[tuple[str, str, float]]:
    skews = [host for host in hosts if host.start_skew_ns is not None]
    last = max(skews, key=lambda host: host.start_skew_ns or 0, default=None)
    skew_ns = 0 if last is None else last.start_skew_ns or 0
    if last is not None and skew_ns > _APART * measured_ns > 0:
        yield (
            f"Host {last.name} began {skew_ns / NS_PER_MS:.1f} ms later than the first, "
            f"{100 * skew_ns / measured_ns:.1f} % of the measured time.",
            "Measure for longer, or look for what keeps that host from running.",
            skew_ns / measured_ns,
        )


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
    fires_when="A host of a fleet began more than 1 % of the measured time later than the first, its "
    "clock moved by more than 1 ms, or kernels differ.",
    place=310,
)
