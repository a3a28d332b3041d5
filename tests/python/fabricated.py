"""Results made up to order: loads, histograms, series, CPU tables and warnings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from fathom import Result
from fathom.stats.histogram import from_values
from store_worker import RESULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray

__all__ = ["fabricated", "latencies_ns"]

TEXT = json.dumps(dict(RESULT.raw))
GIB = 1 << 30
INTERVAL_NS = 100_000_000
_LOAD: dict[str, Any] = {
    "block_bytes": 4096,
    "random": 100,
    "write": 0,
    "threads": 1,
    "depth": 1,
    "caching": "unbuffered",
    "write_through": True,
    "rate": None,
    "size": 64 * GIB,
    "limit": 0,
}


def latencies_ns(median_us: float, spread: float = 0.2, count: int = 4_000) -> FloatArray:
    """Return log-normal latencies around a median."""
    random = np.random.default_rng(7)
    return np.asarray(1e3 * median_us * np.exp(spread * random.standard_normal(count)))


def fabricated(
    *,
    rates: Sequence[float] | FloatArray | float = 10_000.0,
    latency_ns: FloatArray | float = 100.0,
    idle_percent: Sequence[float] = (80.0, 80.0),
    warnings: Sequence[tuple[str, str]] = (),
    path: str = "made-up.dat",
    **load: object,
) -> Result:
    """Return a result.

    ``rates`` are the IOPS of each 100 ms, or the one of all 5 s; ``latency_ns`` are latencies, or a
    median in microseconds; ``warnings`` are kinds with their evidence.
    """
    asked = _LOAD | load
    if set(asked) != set(_LOAD):
        raise ValueError(f"no such part of a load: {set(asked) - set(_LOAD)}")
    raw: dict[str, Any] = json.loads(TEXT)
    _profile(raw["request"]["profile"]["time_spans"][0], asked, path)
    series = np.full(50, rates) if isinstance(rates, float) else np.asarray(rates, float)
    values = latencies_ns(latency_ns) if isinstance(latency_ns, float) else latency_ns
    _span(raw["time_spans"][0], asked, path, series, values)
    raw["time_spans"][0]["cpu"] = [
        {
            "os_id": number,
            "user_percent": 100 - idle,
            "kernel_percent": 0.0,
            "idle_percent": idle,
            "steal_percent": 0.0,
        }
        for number, idle in enumerate(idle_percent)
    ]
    raw["warnings"] = [
        {"kind": kind, "target": path, "time_span": 0, "evidence": evidence, "remedy": "Mend it."}
        for kind, evidence in warnings
    ]
    return Result.from_json(json.dumps(raw))


def _profile(span: dict[str, Any], asked: dict[str, Any], path: str) -> None:
    target = span["targets"][0]
    target["access"]["random_percent"] = asked["random"]
    target |= {
        "path": path,
        "block_bytes": asked["block_bytes"],
        "limit_bytes": asked["limit"],
        "caching": asked["caching"],
        "write_through": asked["write_through"],
        "outstanding": asked["depth"],
        "write_percent": asked["write"],
        "rate": asked["rate"],
        "threads": asked["threads"],
    }


def _span(
    span: dict[str, Any], asked: dict[str, Any], path: str, series: FloatArray, values: FloatArray
) -> None:
    """Put everything into the first thread; the others measured nothing."""
    span["measured_ns"] = INTERVAL_NS * len(series)
    span["interval_ns"] = INTERVAL_NS
    span["targets"][0] |= {"path": path, "size_bytes": asked["size"]}
    counts = series * INTERVAL_NS / 1e9
    del span["threads"][1:]
    (target,) = span["threads"][0]["targets"]
    share = asked["write"] / 100
    target["read"] = _direction(target["read"], counts * (1 - share), values, asked)
    target["write"] = _direction(target["write"], counts * share, values, asked)


def _direction(
    like: dict[str, Any], counts: FloatArray, values: FloatArray, asked: dict[str, Any]
) -> dict[str, Any]:
    # Rounded so that the sum is exact to one I/O.
    ios = np.diff(np.rint(np.cumsum(counts)), prepend=0).astype(int)
    buckets = from_values(values) if ios.sum() else {}
    mean_ns = float(values.mean())
    cells = [
        {
            "ios": int(one),
            "bytes": int(one) * asked["block_bytes"],
            "latency_ns_min": 1,
            "latency_ns_max": 1,
            "latency_ns_sum": int(one * mean_ns),
            "latency_ns_sum_squares": 0.0,
        }
        for one in ios
    ]
    latency = {
        "count": sum(buckets.values()),
        "min_ns": int(values.min()),
        "max_ns": int(values.max()),
        "sum_ns": int(mean_ns * sum(buckets.values())),
        "sum_squares_ns2": 0.0,
        "bucket_lower_ns": [int(one) for one in buckets],
        "bucket_counts": [int(one) for one in buckets.values()],
    }
    return like | {
        "ios": int(ios.sum()),
        "bytes": int(ios.sum()) * asked["block_bytes"],
        "latency": latency,
        "response": None,
        "series": {"cells": cells},
    }
