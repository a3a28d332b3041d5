"""What pgbench prints (https://www.postgresql.org/docs/current/pgbench.html), as figures."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fathom.errors import FathomError

__all__ = ["LOADS", "DatabaseFigures", "PgbenchError", "read_pgbench"]

LOADS = ("select-only", "simple-update", "tpcb-like")
"""The built-in scripts of pgbench: reads alone, a short update, and that of its own default."""

_MOST_LINE = 300
_TPS = re.compile(r"^tps = (\d+(?:\.\d+)?)(.*)$", re.MULTILINE)
_MEAN = re.compile(r"^latency average = (\d+(?:\.\d+)?) ms$", re.MULTILINE)
_DEVIATION = re.compile(r"^latency stddev = (\d+(?:\.\d+)?) ms$", re.MULTILINE)
_COUNT = re.compile(r"^number of transactions actually processed: (\d{1,18})", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d{1,18})", re.MULTILINE)


class PgbenchError(FathomError):
    """pgbench did not measure, or printed what is no report of it."""


@dataclass(frozen=True)
class DatabaseFigures:
    """What one database did: transactions (or I/Os) per second, and their latencies.

    ``latency_deviation_ms`` is the standard deviation over its transactions, None if unknown.
    """

    name: str
    per_s: float
    latency_mean_ms: float | None
    latency_deviation_ms: float | None = None
    count: int = 0
    failed: int = 0


def read_pgbench(name: str, text: str) -> DatabaseFigures:
    """Return the figures of one report.

    Of two rates, as versions before 14 print them, that without the time to connect counts.

    Raises
    ------
    PgbenchError
        If it has no rate, count or latency.

    """
    rates = _TPS.findall(text)
    apart = [rate for rate, words in rates if "excluding" in words or "without" in words]
    rate = next(iter(apart), rates[-1][0] if rates else None)
    count, mean = _COUNT.search(text), _MEAN.search(text)
    if rate is None or count is None:
        last = (text.strip().splitlines() or ["nothing"])[-1][:_MOST_LINE]
        raise PgbenchError(f"{name}: pgbench printed no report, but: {last}")
    deviation, failed = _DEVIATION.search(text), _FAILED.search(text)
    return DatabaseFigures(
        name=name,
        per_s=float(rate),
        latency_mean_ms=None if mean is None else float(mean[1]),
        latency_deviation_ms=None if deviation is None else float(deviation[1]),
        count=int(count[1]),
        failed=0 if failed is None else int(failed[1]),
    )
