"""From an imported result to the rows that are saved: what it does not tell stays null."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fathom.imported.merge import known_percentile_ns
from fathom.store._tables import DIRECTIONS, latency_columns
from fathom.store.packing import pack_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.imported import ImportedDirection, ImportedLatency, ImportedResult
    from fathom.store.records import RunOutcome

__all__ = ["imported_provenance_row", "imported_run_row", "imported_target_rows"]

# The version of the form that ``ImportedResult.to_dict`` has.
_SCHEMA_VERSION = 1
_PERCENTS = (50.0, 95.0, 99.0, 99.9)


def imported_run_row(
    result: ImportedResult, arguments: Sequence[str], label: str, failures: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the columns of an imported run."""
    reasons = [*failures, *([result.failure] if result.failure else [])]
    outcome: RunOutcome = "complete" if result.complete else "interrupted"
    average = result.cpu_average
    return {
        "uid": str(uuid.uuid4()),
        "label": label,
        "started_at_unix_s": result.time_stamp_unix_s,
        "saved_at_unix_s": time.time(),
        "outcome": "failed" if reasons else outcome,
        "failure": "; ".join(reasons) or None,
        "arguments_json": json.dumps([*arguments]),
        "command_line": result.command_line,
        "profile_json": json.dumps(asdict(result.load)),
        "result_schema_version": _SCHEMA_VERSION,
        "result_json_zlib": pack_json(result.to_dict()),
        "warning_count": len(result.notes),
        "block_bytes": result.load.block_bytes,
        "thread_count": result.load.threads,
        "outstanding_per_thread": result.load.outstanding,
        "write_percent": result.load.write_percent,
        "random_percent": result.load.random_percent,
        "time_span_count": 1,
        "measured_s": result.measured_s,
        "cpu_percent": average.usage_percent if average else None,
        "ios": result.total.ios if result.total else None,
        "bytes": result.total.bytes if result.total else None,
        **_figures(result),
        "origin": result.origin,
        "origin_tool": result.tool,
        "origin_tool_version": result.tool_version or None,
    }


def _figures(result: ImportedResult) -> dict[str, float | None]:
    row: dict[str, float | None] = {}
    for name in (*DIRECTIONS, "sync"):
        found: ImportedDirection | None = getattr(result, name)
        if found is None:
            continue
        row[f"{name}_iops"] = found.iops
        if name != "sync":
            row[f"{name}_mib_per_s"] = found.mib_per_s
        if found.latency is not None:
            row |= dict(zip(latency_columns(name), _latencies(found.latency), strict=True))
    return row


def _latencies(latency: ImportedLatency) -> list[float | None]:
    quantiles = [known_percentile_ns(latency, percent) for percent in _PERCENTS]
    return [latency.mean_ns, *quantiles, latency.max_ns]


def imported_provenance_row(result: ImportedResult) -> dict[str, Any]:
    """Return the columns of the host, of which sources tell little."""
    facts = result.options
    return {
        "tool_version": f"{result.tool} {result.tool_version}".strip()[:40],
        "host_name": result.host_name,
        "kernel": "",
        "cpu_model": str(facts.get("cpu_model", "")),
        "cpu_count": facts.get("cpu_count"),
        "cpu_governor": "",
        "memory_bytes": None,
        "io_backends": str(facts.get("ioengine", "")),
    }


def imported_target_rows(result: ImportedResult) -> list[dict[str, Any]]:
    """Return one row for each target; what lies beneath it is not looked up on this machine."""
    devices = result.options.get("devices") or None
    return [
        {
            "position": position,
            "path": target.path,
            "kind": "unknown",
            "size_bytes": target.size_bytes,
            "device_names": devices,
        }
        for position, target in enumerate(result.targets)
    ]
