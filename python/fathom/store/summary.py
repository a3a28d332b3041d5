"""From a result to the rows that are saved."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fathom._asked import asked_load
from fathom._hanging import LOOK_S, HangingError, within
from fathom._provenance import TargetProvenance, memory_bytes, target_name, target_provenance
from fathom.store._tables import DIRECTIONS, latency_columns
from fathom.store.packing import pack_json
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fathom.result import Direction, Result
    from fathom.store.records import RunOutcome

__all__ = ["host_row", "outcome_of", "provenance_row", "run_row", "series_target", "target_rows"]

_QUANTILES = (0.5, 0.95, 0.99, 0.999)


def outcome_of(result: Result, failures: Sequence[str] = ()) -> RunOutcome:
    """Return how a run ended; one that began no time span has failed."""
    if failures or not result.time_spans or any(span.failure for span in result.time_spans):
        return "failed"
    planned = len(result.raw["request"]["profile"]["time_spans"])
    done = sum(span.complete for span in result.time_spans)
    return "complete" if done == planned else "interrupted"


def run_row(
    result: Result, arguments: Sequence[str], label: str, failures: Sequence[str]
) -> dict[str, Any]:
    """Return the columns of a run; rates and latencies are those of its first time span."""
    raw = result.raw
    reasons = [*failures] or [span.failure for span in result.time_spans if span.failure]
    return {
        "uid": str(uuid.uuid4()),
        "label": label,
        "started_at_unix_s": float(raw["started_at_unix_s"]),
        "saved_at_unix_s": time.time(),
        "outcome": outcome_of(result, failures),
        "failure": "; ".join(reasons) or None,
        "arguments_json": json.dumps([*arguments]),
        "command_line": result.command_line,
        "profile_json": json.dumps(raw["request"]["profile"]),
        "result_schema_version": raw["schema_version"],
        "result_json_zlib": pack_json(raw),
        "warning_count": len(result.warnings),
        **_load(raw["request"]),
        **_measured(result),
    }


def _load(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was requested."""
    asked = asked_load(request)
    return {
        "block_bytes": asked.block_bytes,
        "thread_count": asked.threads,
        "outstanding_per_thread": asked.depth,
        "write_percent": asked.write_percent,
        "random_percent": asked.random_percent,
    }


def _measured(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {
        "time_span_count": len(result.time_spans),
        "measured_s": 0.0,
        "cpu_percent": 0.0,
        "ios": 0,
        "bytes": 0,
    }
    if result.time_spans:
        span = result.time_spans[0]
        row |= {
            "measured_s": span.measured_ns / NS_PER_S,
            "cpu_percent": span.cpu_percent,
            "ios": span.total.ios,
            "bytes": span.total.bytes,
        }
        for name in DIRECTIONS:
            row |= _direction(name, getattr(span, name))
        if span.sync.ios:
            row |= {"sync_iops": span.sync.iops, **_latencies("sync", span.sync)}
    return row


def _direction(name: str, direction: Direction) -> dict[str, float]:
    row = {f"{name}_iops": direction.iops, f"{name}_mib_per_s": direction.mib_per_s}
    return row | _latencies(name, direction)


def _latencies(name: str, direction: Direction) -> dict[str, float]:
    latency = direction.latency
    if latency is None:
        return {}
    quantiles = (float(latency.quantile_ns(quantile)) for quantile in _QUANTILES)
    values = (latency.mean_ns, *quantiles, float(latency.max_ns))
    return dict(zip(latency_columns(name), values, strict=True))


def provenance_row(result: Result) -> dict[str, Any]:
    """Return the columns of the host that measured just now, which is this one."""
    return {**host_row(result), "memory_bytes": memory_bytes()}


def host_row(result: Result) -> dict[str, Any]:
    """Return the columns of the host that the engine found, wherever it was."""
    host = result.raw["host"]
    backends = {thread.engine for span in result.time_spans for thread in span.threads}
    return {
        "tool_version": result.raw["tool"]["version"],
        "host_name": host["name"],
        "kernel": host["kernel"],
        "cpu_model": host["cpu_model"],
        "cpu_count": len(host["cpus"]),
        "cpu_governor": host["power_scheme"],
        "io_backends": ", ".join(sorted(backends)),
    }


def target_rows(result: Result) -> list[dict[str, Any]]:
    """Return one row for each target of the first time span, with what lies beneath it now."""
    spans = result.raw["time_spans"]
    targets = spans[0]["targets"] if spans else []
    rows = []
    for position, target in enumerate(targets):
        beneath = asdict(_beneath(target["path"]))
        if beneath["device_is_rotational"] is not None:
            beneath["device_is_rotational"] = int(beneath["device_is_rotational"])
        facts = {name: target[name] for name in ("path", "kind", "size_bytes")}
        rows.append({"position": position, **facts, **beneath})
    return rows


def _beneath(path: str) -> TargetProvenance:
    """Return what lies beneath a target; nothing of one that hangs, so that its run is saved."""
    try:
        return within(LOOK_S, f"look at '{path}'", lambda: target_provenance(path))
    except HangingError:
        return TargetProvenance()


def series_target(path: str, earlier: Callable[[], Iterable[str]]) -> str:
    """Return the name of a target by which its runs are kept together, whatever it is called."""
    try:
        return within(LOOK_S, f"look at '{path}'", lambda: target_name(path, earlier))
    except HangingError:
        return path
