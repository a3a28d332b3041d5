"""What happened to a cluster while runs were measured: marks on their time, and findings."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from fathom._files import read_bytes
from fathom._text import decoded, json_of, one_line
from fathom.clusters import ClusterError, report_from_json
from fathom.clusters.written import stamp
from fathom.metrics import interval_series
from fathom.report.material import Advice, ClusterMark
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fathom.clusters import ClusterReport, Move
    from fathom.report.material import Material, ReportedRun, Side

__all__ = ["with_events"]

_MOST_MIB = 256
_MOST_MARKS = 40
# An interval is a stall if less than this share of the median of all came through.
_STALL_SHARE = 0.05
# Our choice: a stall is of what happened within a second of it, as clocks differ, else within five.
_NEARNESS_S = (1.0, 5.0)
_LEAST_STALL_S = 0.5
_BAD = ("failed", "degraded", "node lost")


class _Stall(NamedTuple):
    """When less than a twentieth of the usual rate came through, in seconds of measured time."""

    from_s: float
    to_s: float
    iops: float

    @property
    def seconds(self) -> float:
        return self.to_s - self.from_s


def with_events(material: Material, files: Sequence[Path]) -> Material:
    """Return a report in which runs have marks of what happened meanwhile, and findings of both.

    Raises
    ------
    ClusterError
        If a file is no JSON of ``fathom resources``.

    """
    reports = [_read(one) for one in files]
    more = " ".join(f"--events {shlex.quote(str(one))}" for one in files)
    sides = tuple(_marked_side(side, reports) for side in material.sides)
    return replace(material, sides=sides, command=f"{material.command} {more}")


def _read(path: Path) -> ClusterReport:
    try:
        data = read_bytes(path, most_mib=_MOST_MIB)
        return report_from_json(json_of(decoded(data)))
    except OSError as error:
        raise ClusterError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"{path} is no JSON of fathom resources: {error}") from error
    except ClusterError as error:
        raise ClusterError(f"{path}: {error}") from error


def _marked_side(side: Side, reports: Sequence[ClusterReport]) -> Side:
    runs = [_marked(run, reports) for run in side.runs]
    advice = [one for run in runs for report in reports for one in _advice(run, report)]
    if not any(run.happened for run in runs):
        words = (
            "Nothing happened to the cluster while these runs were measured, or nobody knows when "
            "they began."
        )
        return replace(side, notes=(*side.notes, words)) if side.runs else side
    # What a cluster did goes before what may explain less.
    return replace(side, runs=tuple(runs), advice=(*advice, *side.advice))


def _began_s(run: ReportedRun) -> float | None:
    """Return when the measured time of a run began, in seconds since 1970."""
    spans = run.result.raw["time_spans"]
    began_ns = spans[0].get("began_unix_ns") if spans else None
    if not began_ns:
        return None
    asked = run.result.raw["request"]["profile"]["time_spans"][0]
    return float(began_ns) / NS_PER_S + float(asked.get("warm_up_s") or 0)


def _length_s(run: ReportedRun) -> float:
    return float(run.result.raw["time_spans"][0]["measured_ns"]) / NS_PER_S


def _marked(run: ReportedRun, reports: Sequence[ClusterReport]) -> ReportedRun:
    began_s = _began_s(run)
    if began_s is None:
        return run
    length_s = _length_s(run)
    found = []
    for report in reports:
        found += [
            ClusterMark(one.ended_unix_s - began_s, _move_mark(one), is_bad=False)
            for one in report.moves
        ]
        found += [
            ClusterMark(
                one.at_unix_s - began_s,
                one_line(" ".join(filter(None, (one.resource or one.group or one.node, one.kind)))),
                is_bad=True,
            )
            for one in report.events
            if one.kind in _BAD
        ]
    within = [one for one in found if 0 <= one.at_s <= length_s]
    return replace(run, happened=tuple(sorted(within, key=lambda one: one.at_s)[:_MOST_MARKS]))


def _move_mark(move: Move) -> str:
    return one_line(f"{move.group}: {move.from_node} to {move.to_node}")


def _stalls(run: ReportedRun) -> list[_Stall]:
    """Return when hardly anything came through, each as long as it lasted."""
    rates = interval_series(run.result, "iops")
    if rates is None or not rates.size:
        return []
    interval_s = run.result.raw["time_spans"][0]["interval_ns"] / NS_PER_S
    usual = sorted(float(one) for one in rates)[rates.size // 2]
    most = _STALL_SHARE * (usual or float(rates.max()))
    found = []
    numbered = enumerate(float(one) for one in rates)
    for is_low, part in groupby(numbered, lambda one: one[1] < most):
        if is_low:
            low = _without_edges(list(part))
            start_s, end_s = low[0][0] * interval_s, (low[-1][0] + 1) * interval_s
            found.append(_Stall(start_s, end_s, max(rate for _, rate in low)))
    return [one for one in found if one.seconds >= max(_LEAST_STALL_S, interval_s)]


def _without_edges(low: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Leave out the intervals in which it began and ended, if nothing came through between."""
    none = [at for at, (_, rate) in enumerate(low) if not rate]
    within = low[none[0] : none[-1] + 1] if none else []
    return within if within and not any(rate for _, rate in within) else low


def _advice(run: ReportedRun, report: ClusterReport) -> list[Advice]:
    began_s = _began_s(run)
    if began_s is None or not run.happened:
        return []
    found = []
    for stall in _stalls(run):
        ends = began_s + stall.from_s, began_s + stall.to_s
        near = (_happened(report, ends[0] - one, ends[1] + one) for one in _NEARNESS_S)
        words = next(filter(None, near), None)
        if words:
            found.append(_finding(run, stall, words))
    return found


def _happened(report: ClusterReport, low_s: float, high_s: float) -> list[str]:
    """Return in words which groups moved in that time; if none did, what failed."""
    moves = [
        _moved(one)
        for one in report.moves
        if one.began_unix_s <= high_s and one.ended_unix_s >= low_s
    ]
    return moves or [
        one_line(
            f"{one.resource or one.group or one.node} {one.kind} at {stamp(one.at_unix_s)[11:]}"
        )
        for one in report.events
        if one.kind in _BAD and low_s <= one.at_unix_s <= high_s
    ]


def _moved(move: Move) -> str:
    when = stamp(move.ended_unix_s)[11:]
    return one_line(
        f"the group {move.group} moved from {move.from_node} to {move.to_node} at {when}"
    )


def _finding(run: ReportedRun, stall: _Stall, words: Sequence[str]) -> Advice:
    rate = "0" if not stall.iops else f"at most {stall.iops:,.0f}"
    evidence = (
        f"IOPS were {rate} for {stall.seconds:.1f} s, from second {stall.from_s:.1f} of the "
        f"measured time on; {'; '.join(words)}."
    )
    return Advice(
        title="It stalled while the cluster moved or failed",
        evidence=evidence,
        remedy=f"{evidence} Leave this time out of what the storage can do, or take it as the time "
        "that a failover costs.",
        confidence="likely",
        where="" if run.run_id is None else f"run {run.run_id}",
    )
