"""Too good to be a device: a host's memory answered, or nothing did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import OTHERS_ANSWERED
from fathom.findings.finding import Noticed, Rule
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

# The quickest device of its time reads 4 KiB in 5 us, without the way through the kernel.
_LEAST_NS = 5_000
# What sixteen lanes of PCI Express 6.0 carry, in MiB/s; one device has no more.
_MOST_MIB_PER_S = 115_000


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for one in evidence.observed:
        latency = one.result.total.latency
        median_ns = latency.quantile_ns(0.5) if latency is not None else None
        rate = one.result.total.mib_per_s
        if median_ns is not None and median_ns < _LEAST_NS:
            words = (
                f"half of them took less than {time_words(median_ns + 1)}; the quickest devices "
                f"need {time_words(_LEAST_NS)}"
            )
            weight = _LEAST_NS / (median_ns + 1)
        elif rate > _MOST_MIB_PER_S:
            words = f"{rate:,.0f} MiB/s is more than sixteen lanes of PCI Express 6.0 carry"
            weight = rate / _MOST_MIB_PER_S
        else:
            continue
        yield Noticed(
            f"{one.load.words()}, {one.load.outstanding} outstanding: {words}.",
            "Look at what answered: page cache, blocks that were never written, a RAM disk, or the "
            "cache of a hypervisor.",
            "likely",
            (one,),
            weight,
        )


RULE = Rule(
    "too-good",
    "Too good to be a device",
    "Intel Optane SSD P5800X, product brief: 5 us; PCI-SIG, PCI Express 6.0: 121 GB/s for x16",
    _look,
    # Nothing else makes a run quicker than a device is.
    explained_by=OTHERS_ANSWERED,
    fires_when="Half of the I/Os took less than 5 us, or the rate is above 115,000 MiB/s.",
    place=140,
)
