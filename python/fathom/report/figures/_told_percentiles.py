"""Curves of latency, also of tables of percentiles, which is all that some tools tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NINES", "Curve", "told_curves"]

NINES = 9
_PERCENT = 100
_KINDS = {"read": "reads", "write": "writes", "sync": "syncs"}


@dataclass(frozen=True)
class Curve:
    """Which share of the I/Os took at most how long.

    Attributes
    ----------
    name
        Of the I/Os.
    ios
        How many there are; None if the source does not tell.
    least_ns, greatest_ns
        The ends, in nanoseconds.
    quantiles_ns
        Those that are known, by their share.
    points
        Latencies in nanoseconds with their nines: 2 stands for 99 %.
    is_told
        Only the points are known.

    """

    name: str
    ios: int | None
    least_ns: float | None
    greatest_ns: float | None
    quantiles_ns: Mapping[float, float]
    points: list[tuple[float, float]] = field(repr=False)
    is_told: bool = False


def told_curves(raw: Mapping[str, Any]) -> list[Curve]:
    """Return the tables of percentiles of an imported result, of reads and of writes.

    Those of both together are only shown where the source does not tell them apart.
    """
    imported = raw.get("imported")
    if imported is None:
        return []
    apart = [
        curve
        for key, name in _KINDS.items()
        if (curve := _told(name, imported.get(key))) is not None
    ]
    whole = _told("reads and writes", imported.get("total"))
    return apart or ([whole] if whole else [])


def _told(name: str, direction: Mapping[str, Any] | None) -> Curve | None:
    latency = (direction or {}).get("latency")
    if direction is None or not latency or not latency["percentiles_ns"]:
        return None
    shares = {float(one) / _PERCENT: value for one, value in latency["percentiles_ns"].items()}
    ios = direction["ios"]
    # What lies beyond the last I/O is that I/O again.
    known = {
        share: float(value_ns)
        for share, value_ns in sorted(shares.items())
        if value_ns and share < 1 and (ios is None or ios * (1 - share) >= 1 - 1e-6)
    }
    points = [(value_ns, -math.log10(1 - share)) for share, value_ns in known.items()]
    least, greatest = latency["min_ns"], latency["max_ns"]
    if least:
        points.insert(0, (float(least), 0.0))
    if greatest and ios and ios > 1:
        points.append((float(greatest), min(math.log10(ios), float(NINES))))
    if len(points) < 2:  # noqa: PLR2004 - A line has two ends.
        return None
    quantiles = {round(share, 12): value_ns for share, value_ns in known.items()}
    return Curve(name, ios, least, greatest, quantiles, points, is_told=True)
