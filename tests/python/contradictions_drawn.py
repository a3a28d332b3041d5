"""What both parts of the contradiction test draw with, and how they fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom.runners import Figures

if TYPE_CHECKING:
    import random

__all__ = ["ContradictionError", "drawn_figures", "hold", "number_in"]

ORDINARY = 0.9
"""The share of figures that are those of storage as it is meant to be."""
NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\d,.]*\d)")


class ContradictionError(AssertionError):
    """A sentence says what its figures do not."""


def hold(condition: object, *told: object) -> None:
    """Fail with what was told unless the condition holds."""
    if not condition:
        raise ContradictionError(told)


def drawn_figures(draw: random.Random, block_bytes: int) -> Figures:
    """Return figures of a run: 1 to 10 million IOPS, or one I/O in minutes, exact or not at all."""
    iops = 10 ** (draw.uniform(0, 7) if draw.random() < ORDINARY else draw.uniform(-2.5, 0))
    mean_ns = 10 ** (draw.uniform(2.5, 10) if draw.random() < ORDINARY else draw.uniform(10, 11.5))
    p99_ns = mean_ns * 10 ** draw.uniform(-0.5, 2)
    return Figures(
        iops=iops,
        mib_per_s=iops * block_bytes / (1 << 20),
        relative_half_width=draw.choice(
            (None, 0.0, draw.uniform(0, 0.4), draw.uniform(0, 1.5), float("inf"))
        ),
        measured_s=draw.uniform(0.1, 30),
        latency_mean_ns=draw.choice((mean_ns, mean_ns, mean_ns, None)),
        latency_p50_ns=mean_ns,
        latency_p95_ns=p99_ns,
        latency_p99_ns=p99_ns,
        latency_p999_ns=p99_ns,
        cpu_percent=None,
        busiest_cpu_percent=None,
    )


def number_in(text: str) -> list[float]:
    """Return the numbers of a sentence."""
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]
