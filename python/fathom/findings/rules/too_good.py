"""Too good to be a device: a host's memory answered, or nothing did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import OTHERS_ANSWERED
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

# The quickest device of its time reads 4 KiB in 5 us, without the way through the kernel.
_LEAST_NS = 5_000
# What sixteen lanes of PCI Express 6.0 carry, in MiB/s; one device has no more.
_MOST_MIB_PER_S = 115_000
_ALL_PERCENT = 100


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for one in evidence.observed:
        latency = one.result.total.latency
        median_ns = latency.quantile_ns(0.5) if latency is not None else None
        rate, whose = _greatest_rate(one)
        if median_ns is not None and median_ns < _LEAST_NS:
            words = (
                f"half of them took less than {time_words(median_ns + 1)}; the quickest devices "
                f"need {time_words(_LEAST_NS)}"
            )
            weight = _LEAST_NS / (median_ns + 1)
        elif rate > _MOST_MIB_PER_S:
            words = f"{rate:,.0f} MiB/s{whose} is more than sixteen lanes of PCI Express 6.0 carry"
            weight = rate / _MOST_MIB_PER_S
        else:
            continue
        where = ", past the page cache" if one.load.is_direct else ""
        counted = [f" {origin.sentence}." for origin in one.result.time_spans[0].origins[:1]]
        yield Noticed(
            f"{one.load.words()}, {one.load.outstanding} outstanding{where}: {words}."
            f"{''.join(counted)}",
            f"Look at what answered: {', '.join(_suspects(one))}.",
            "likely",
            (one,),
            weight,
        )


def _greatest_rate(one: Observed) -> tuple[float, str]:
    """Return the greatest MiB/s that came over one host's slots, and whose they are in words."""
    hosts = [host for host in host_figures(one.result) if host.lost is None]
    rates = [(host.total.mib_per_s, host.name) for host in hosts if host.total is not None]
    if len(rates) < 2:  # noqa: PLR2004 - One alone is the whole.
        return one.result.total.mib_per_s, ""
    rate, name = max(rates)
    return rate, f" of host {name}"


def _suspects(one: Observed) -> list[str]:
    """Return what may have answered so quickly, the last behind an *or*.

    What went past the page cache did not come from it, nor did what a device has counted.
    """
    answered = {origin.answered_by for origin in one.result.time_spans[0].origins}
    is_counted = answered == {"device"}
    found = [] if one.load.is_direct or is_counted else ["the page cache"]
    if one.load.write_percent < _ALL_PERCENT:
        found.append("blocks that were never written")
    if not is_counted:
        found.append("a RAM disk")
    if answered & {"unseen"}:
        found.append("the cache of the server that holds the target")
    found.append("or the cache of the device or of a hypervisor")
    return found if len(found) > 1 else [found[0].removeprefix("or ")]


RULE = Rule(
    "too-good",
    "Too good to be a device",
    "Intel Optane SSD P5800X, product brief: 5 us; PCI-SIG, PCI Express 6.0: 121 GB/s for x16",
    _look,
    # Nothing else makes a run quicker than a device is.
    explained_by=OTHERS_ANSWERED,
    fires_when=(
        "Half of the I/Os took less than 5 us, or the rate of one host is above 115,000 MiB/s."
    ),
    place=140,
)
