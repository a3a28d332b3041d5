"""From what is stored to points and runs of a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom import store as stores
from fathom._tails import are_few
from fathom._time_spans import by_time_span
from fathom.report.collect._loads import asked_settings
from fathom.report.material import Family, Point, ReportedRun
from fathom.units import block_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fathom.result import Result
    from fathom.store import StoredRun

__all__ = [
    "carried_tails_ns",
    "families_of",
    "load_words",
    "point_of_figures",
    "point_of_row",
    "run_of_result",
    "run_of_stored",
    "time_spans_of_run",
]

_QUANTILES = ("mean", "p50", "p95", "p99", "p999")
_LEAST_FAMILY = 2
_FIGURES = ("read_", "write_", "total_", "sync_")
_OF_A_TIME_SPAN = frozenset(
    {
        "block_bytes",
        "bytes",
        "cpu_percent",
        "ios",
        "measured_s",
        "outcome",
        "outstanding_per_thread",
        "random_percent",
        "thread_count",
        "time_span_count",
    }
)


def load_words(row: Mapping[str, Any]) -> str:
    """Return a load in words, such as ``8K random, 30 % writes, 2 x 16``."""
    if row.get("block_bytes") is None or row.get("write_percent") is None:
        return "unknown load"
    places = {0: "sequential", 100: "random"}
    place = places.get(row["random_percent"], f"{row['random_percent']:g} % random")
    kinds = {0: "read", 100: "write"}
    kind = kinds.get(row["write_percent"], f"{row['write_percent']:g} % writes")
    joined = f"{place} {kind}" if row["write_percent"] in kinds else f"{place}, {kind}"
    load = f"{row['thread_count']} x {row['outstanding_per_thread']}"
    return f"{block_words(row['block_bytes'])} {joined}, {load}"


def point_of_figures(
    figures: Mapping[str, Any], load: Mapping[str, Any], run_id: int | None
) -> Point:
    """Return a point of the figures of an outcome; ``load`` has what a point asks of a load."""
    latencies: dict[str, Any] = {
        f"{name}_ns": figures.get(f"latency_{name}_ns") for name in _QUANTILES
    }
    return Point(
        **load,
        **latencies,
        ios=figures.get("latency_ios"),
        iops=figures["iops"],
        mib_per_s=figures["mib_per_s"],
        cpu_percent=figures.get("cpu_percent"),
        run_id=run_id,
    )


def point_of_row(row: Mapping[str, Any], label: str) -> Point:
    """Return a point of a run's summary."""
    latencies: dict[str, Any] = {
        f"{name}_ns": row.get(f"total_latency_{name}_ns") for name in _QUANTILES
    }
    return Point(
        **latencies,
        label=label,
        # Of a run that another tool made, not all need be known.
        threads=row.get("thread_count") or 0,
        depth=row.get("outstanding_per_thread") or 0,
        block_bytes=row.get("block_bytes"),
        write_percent=row.get("write_percent"),
        ios=row.get("ios"),
        iops=row.get("total_iops") or 0.0,
        mib_per_s=row.get("total_mib_per_s") or 0.0,
        cpu_percent=row.get("cpu_percent"),
        run_id=row.get("id"),
    )


def carried_tails_ns(points: Iterable[Point]) -> list[float]:
    """Return the 99th percentiles, of which the least may be told: not of too few I/Os.

    Where all are of too few, they are all there is.
    """
    known = [(one.p99_ns, one.ios) for one in points if one.p99_ns is not None]
    return [tail for tail, ios in known if not are_few(0.99, ios)] or [tail for tail, _ in known]


def run_of_stored(run: StoredRun, *, key: str = "", part: str = "", label: str = "") -> ReportedRun:
    """Return a stored run as reports have it; without a label, its load is reported."""
    row = run.summary.columns
    words = label or run.summary.label or load_words(row)
    return ReportedRun(
        key=key,
        part=part,
        label=words,
        arguments=run.arguments,
        result=run.result,
        point=point_of_row(row, words),
        run_id=run.summary.id,
        facts=row,
        beneath=run.targets,
        asked=asked_settings(run.result.raw["request"]),
    )


def run_of_result(result: Result, label: str) -> ReportedRun:
    """Return a result from a file as reports have it; what lies beneath its targets is unknown."""
    row = {**stores.run_row(result, (), label, ()), **stores.provenance_row(result), "id": None}
    # This machine is not the one that measured.
    row["memory_bytes"] = None
    return ReportedRun(
        key="",
        part="",
        label=label or load_words(row),
        arguments=(),
        result=result,
        point=point_of_row(row, label or load_words(row)),
        run_id=None,
        facts=row,
        beneath=_targets_of(result),
        asked=asked_settings(result.raw["request"]),
    )


def _targets_of(result: Result) -> list[dict[str, Any]]:
    """Return the targets of a result, of which nothing else is known."""
    spans = result.raw["time_spans"]
    return [
        {name: one[name] for name in ("path", "kind", "size_bytes")}
        for one in (spans[0]["targets"] if spans else ())
    ]


def time_spans_of_run(run: ReportedRun) -> list[ReportedRun]:
    """Return each time span of a run as a run by itself, with its own load and figures."""
    spans = by_time_span(run.result)
    if len(spans) == 1:
        return [run]
    return [_time_span_of(run, one, number) for number, one in enumerate(spans, start=1)]


def _time_span_of(run: ReportedRun, span: Result, number: int) -> ReportedRun:
    row = stores.run_row(span, (), "", ())
    words = f"{run.facts.get('label') or load_words(row)}, time span {number}"
    known = {one["path"]: one for one in run.beneath}
    # What the run has of these is of its first time span.
    facts = {name: one for name, one in run.facts.items() if not _is_of_a_time_span(name)}
    facts |= {name: one for name, one in row.items() if _is_of_a_time_span(name)}
    return replace(
        run,
        label=words,
        result=span,
        point=point_of_row(facts, words),
        facts=facts,
        beneath=[known.get(one["path"], one) for one in _targets_of(span)],
        asked=asked_settings(span.raw["request"]),
    )


def _is_of_a_time_span(column: str) -> bool:
    """Whether a column of a run's summary may differ from one time span to the other."""
    return column in _OF_A_TIME_SPAN or column.startswith(_FIGURES)


def families_of(points: Iterable[tuple[Mapping[str, str], Point]]) -> tuple[Family, ...]:
    """Return the loads of the same choice together, as far as there are several of them."""
    found: dict[tuple[tuple[str, str], ...], dict[int, Point]] = {}
    for choice, point in points:
        if not point.outstanding:
            continue
        # Of one load that was measured twice, the last counts.
        found.setdefault(tuple(choice.items()), {})[point.outstanding] = point
    return tuple(
        Family(dict(choice), tuple(one for _, one in sorted(points.items())))
        for choice, points in found.items()
        if len(points) >= _LEAST_FAMILY
    )
