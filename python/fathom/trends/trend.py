"""A series of runs as levels with changes between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from fathom import _digits
from fathom._given import as_wrong_request
from fathom._local_time import DAY, local_words
from fathom._p_values import p_equation
from fathom.errors import InvalidRequestError
from fathom.experiments.compare.comparison import EQUAL_MARGIN
from fathom.experiments.figure_words import FIGURES
from fathom.experiments.told_runs import told_runs
from fathom.metrics import higher_is_better, metric_column, unit_of
from fathom.stats import compare_means, find_change_points
from fathom.stats.change_points import LEAST_LEVEL
from fathom.trends._beyond import Beyond, apart, apart_words, parted
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._claims import Claim, Evidence
    from fathom.stats import Comparison
    from fathom.stats.floats import FloatArray
    from fathom.store import RunSummary, Store

__all__ = ["DEFAULT_METRIC", "MOST_RUNS", "Band", "Level", "Trend", "find_trend"]

DEFAULT_METRIC = "iops"
MOST_RUNS = 2000
"""More runs of a series are not looked at; the newest count."""

_CONFIDENCE = 0.95
# So many normal runs of a hundred lie outside of a band.
_BAND = 0.99
# Values that are as near as this differ by the rounding of logarithms alone.
_ROUNDING = 1e-9
# Of the median of absolute deviations to a standard deviation of normal values.
_TO_DEVIATION = 1.4826
# Runs on either side of a change, of which it is said what differs.
_BESIDE = 3
_MACHINE = {
    "kernel": "the kernel",
    "tool_version": "the tool",
    "cpu_model": "the processor",
    "cpu_count": "the number of CPUs",
    "cpu_governor": "the frequency governor",
    "memory_bytes": "the memory",
    "device_model": "the device's model",
    "device_serial": "the device",
    "device_firmware": "the firmware",
    "device_scheduler": "the scheduler",
    "device_write_cache": "the write cache",
    "target_file_system": "the file system",
    "target_mount_options": "the mount options",
    "target_size_bytes": "the target's size",
}
Outcome = Literal["better", "worse", "equal", "not shown", "cannot tell"]


@dataclass(frozen=True)
class Level:
    """Runs between two changes.

    Attributes
    ----------
    first, last
        Which runs of the series, from 0; both are of it.
    mean
        Of the figure, in ns, IOPS or MiB/s (geometric).
    change, low, high
        From the level before, as a share, with its interval at 95 %; None of the first one.
    outcome
        ``better`` or ``worse``; None of the first one, and where findings forbid a verdict.
    p_value
        The probability of such a change by chance.
    differences
        What else changed with it, in words.

    """

    first: int
    last: int
    mean: float
    change: float | None = None
    low: float | None = None
    high: float | None = None
    outcome: Outcome | None = None
    p_value: float | None = None
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Band:
    """Where single runs of a baseline lie, at 99 %; ``outcome`` is that of the newest level.

    Where most runs do not differ from their level there is no spread, and none is outside.
    """

    name: str
    low: float
    mean: float
    high: float
    outcome: Outcome
    outside: tuple[int, ...]

    @property
    def has_spread(self) -> bool:
        """Whether there is a band at all."""
        return self.high > self.low


@dataclass(frozen=True)
class Trend:
    """A series and what was found in it.

    Attributes
    ----------
    metric
        The figure.
    runs, values
        In the order of time; values in ns, IOPS or MiB/s.
    levels
        At least one.
    band
        Of the baseline, if one was named.
    claims
        What it says, the headline first.
    left_out
        Runs that do not have the figure.
    outcome
        How the newest level is: ``worse`` if it is that against the level before it or against the
        baseline. Without a change it is ``equal`` where the newest runs are shown to be within the
        margin of those before them, else ``not shown``.

    """

    metric: str
    runs: tuple[RunSummary, ...]
    values: tuple[float, ...]
    levels: tuple[Level, ...]
    band: Band | None
    claims: tuple[Claim, ...]
    left_out: int
    outcome: Outcome


class _Series(NamedTuple):
    """A figure of runs in the order of time, with its levels."""

    metric: str
    runs: Sequence[RunSummary]
    values: Sequence[float]
    levels: Sequence[Level]
    beyond: Beyond
    apart: int
    """How many of the newest runs lie wholly outside those before them in the last level."""


def find_trend(
    store: Store,
    reference: str,
    *,
    metric: str = DEFAULT_METRIC,
    baseline: str | None = None,
    most: int = MOST_RUNS,
) -> Trend:
    """Find where the series of a run changed its level.

    Parameters
    ----------
    store
        Where the runs are.
    reference
        A run of the series: ``12``, or the last one of an experiment, a baseline or a list.
    metric
        The figure, such as ``p99``.
    baseline
        Runs whose band is drawn, and with which the newest level is compared.
    most
        Only so many of the newest runs.

    Raises
    ------
    NotFoundError
        If there are no such runs.
    InvalidRequestError
        If there is no such metric, no run of the series has the figure above 0, or the baseline is
        of another series.

    """
    with as_wrong_request():
        metric_column(metric)
    ids = store.baselines.run_ids(reference)
    if not ids:
        raise InvalidRequestError(f"{reference} has no runs")
    found = store.runs.series(ids[-1], limit=most)
    runs, values, beyond = parted(found, metric, store.runs.failed_after(found, limit=most))
    levels = _levels(metric, runs, np.array(values))
    newest_apart = apart(values[levels[-1].first :])
    series = _Series(metric, runs, values, levels, beyond, newest_apart)
    own = [] if baseline is None else _own(store, baseline, runs)
    band = None if baseline is None else _band(baseline, own, series)
    claims = _claims(store, series, band, own)
    count = store.runs.count_series(ids)
    if count > 1:
        words = f"{reference} has runs of {count} series: this is that of run {ids[-1]}."
        claims = (*claims, replace(claims[-1], key="series", text=words))
    levels, band = _allowed(levels, band, claims)
    outcome = _outcome(series, band, claims[0])
    return Trend(metric, runs, values, levels, band, claims, len(beyond.lacking), outcome)


def _allowed(
    levels: tuple[Level, ...], band: Band | None, claims: Sequence[Claim]
) -> tuple[tuple[Level, ...], Band | None]:
    """Return levels and band without the verdicts that the findings on their runs forbid."""
    changes = [one for one in claims if one.key == "change"]
    forbidden = [False, *(bool(one.forbidden_by) for one in changes)]
    forbidden[-1] |= bool(claims[0].forbidden_by)
    judged = tuple(
        replace(level, outcome=None) if is_forbidden else level
        for level, is_forbidden in zip(levels, forbidden, strict=True)
    )
    against = [one for one in claims if one.key in ("headline", "baseline") and one.forbidden_by]
    return judged, replace(band, outcome="cannot tell") if band and against else band


def _outcome(series: _Series, band: Band | None, headline: Claim) -> Outcome:
    """Return how the newest level is, all in all."""
    if headline.forbidden_by:
        return "cannot tell"
    own = _of_newest(series)
    against = own if band is None else band.outcome
    if series.beyond.is_stopped or "worse" in {own, against}:
        return "worse"
    is_open = series.beyond.newer or series.apart
    return "cannot tell" if is_open else against


def _of_newest(series: _Series) -> Outcome:
    """Return how the newest level is against the one before it."""
    values = series.values
    if len(values) < 2 * LEAST_LEVEL:
        return "cannot tell"
    if (found := series.levels[-1].outcome) is not None:
        return found
    old, new = values[:-LEAST_LEVEL], values[-LEAST_LEVEL:]
    shown = compare_means([*old], [*new], confidence=_CONFIDENCE)
    return "equal" if shown.is_equal(EQUAL_MARGIN) else "not shown"


def _levels(metric: str, runs: Sequence[RunSummary], values: FloatArray) -> tuple[Level, ...]:
    points = find_change_points(values)
    starts = [0, *(one.index for one in points)]
    ends = [*starts[1:], len(values)]
    levels: list[Level] = []
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        mean = float(np.exp(np.log(values[start:end]).mean()))
        level = Level(start, end - 1, mean)
        if at:
            changed = compare_means([*values[starts[at - 1] : start]], [*values[start:end]])
            level = Level(
                start,
                end - 1,
                mean,
                changed.change,
                changed.low,
                changed.high,
                _direction(metric, changed.change),
                points[at - 1].p_value,
                _differences(runs[:start], runs[start:]),
            )
        levels.append(level)
    return tuple(levels)


def _direction(metric: str, change: float) -> Outcome:
    return "better" if (change > 0) == higher_is_better(metric) else "worse"


def _differences(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> tuple[str, ...]:
    """Return what the last runs before a change and the first behind it have of different kind."""
    found = []
    for column, words in _MACHINE.items():
        old = {one.columns[column] for one in before[-_BESIDE:]}
        new = {one.columns[column] for one in after[:_BESIDE]}
        if len(old) == len(new) == 1 and old != new:
            (was,), (is_now,) = old, new
            found.append(f"{words} from {was or 'unknown'} to {is_now or 'unknown'}")
    return tuple(found)


def _own(store: Store, baseline: str, runs: Sequence[RunSummary]) -> list[int]:
    """Return which runs of the series are of the baseline."""
    of_baseline = {*store.baselines.run_ids(baseline)}
    own = [at for at, run in enumerate(runs) if run.id in of_baseline]
    if not own:
        raise InvalidRequestError(
            f"no run of {baseline} is of this series: it has another load, target or host"
        )
    return own


def _band(baseline: str, own: Sequence[int], series: _Series) -> Band:
    metric, levels = series.metric, series.levels
    values = np.array(series.values)
    logs = np.log(values)
    spread, mean = _spread(logs, levels), float(logs[own].mean())
    freedom = max(len(values) - len(levels), 1)
    half = float(stdtrit(freedom, (1 + _BAND) / 2)) * spread * math.sqrt(1 + 1 / len(own))
    low, high = (math.exp(mean + sign * half) for sign in (-1, 1))
    outside = tuple(at for at, one in enumerate(values) if half and not low <= one <= high)
    newest = [at for at in range(levels[-1].first, levels[-1].last + 1) if at not in own]
    outcome = _against(metric, values[own], values[newest])
    if not newest and levels[-1].first <= own[-1]:
        outcome = "equal"
    return Band(baseline, low, math.exp(mean), high, outcome, outside)


def _spread(logs: FloatArray, levels: Sequence[Level]) -> float:
    """Return the standard deviation within levels; 0 if runs of a level do not differ."""
    deviations = np.concatenate(
        [logs[one.first : one.last + 1] - math.log(one.mean) for one in levels]
    )
    # Single runs that stand far apart are to be seen outside, and must not make the band wider.
    spread = _TO_DEVIATION * float(np.median(np.abs(deviations)))
    return spread if spread > _ROUNDING else 0.0


def _against(metric: str, old: FloatArray, new: FloatArray) -> Outcome:
    """Return the verdict on the newest level; too few runs on either side tell nothing."""
    if min(len(old), len(new)) < LEAST_LEVEL:
        return "cannot tell"
    found: Comparison = compare_means([*old], [*new], confidence=_CONFIDENCE)
    if found.is_equal(EQUAL_MARGIN):
        return "equal"
    return _direction(metric, found.change) if found.is_different else "cannot tell"


def _claims(
    store: Store, series: _Series, band: Band | None, own: Sequence[int]
) -> tuple[Claim, ...]:
    """Return the sentences; only runs beside changes, the newest and ``own`` are read whole."""
    metric, runs, values, levels, beyond, _ = series
    newest = len(runs) - 1
    beside = {at for one in levels[1:] for at in (one.first - 1, one.first)} | {newest}
    against = [*own, newest] if newest not in own else own
    last = [one.id for one in beyond.stopped[-1:]]
    told = told_runs(store, [*(runs[at].id for at in (*sorted(beside), *against)), *last])
    column, unit = metric_column(metric), unit_of(metric)

    def evidence(places: Sequence[int]) -> list[Evidence]:
        return [told.evidence(runs[at].id, column, values[at], unit) for at in places]

    claims = [
        told.claim(
            "change",
            f"{change_words(metric, runs, one)}: {one.outcome}{_also(one)}.",
            evidence((one.first - 1, one.first)),
            plain=f"{change_words(metric, runs, one)}{_also(one)}.",
        )
        for one in levels[1:]
    ]
    if band is not None:
        words, plain = _band_words(runs, band)
        claims.append(told.claim("baseline", words, evidence(against), plain=plain))
    if any(one.last > one.first for one in levels):
        words = "The figure of a level is the geometric mean of its runs: a change is a ratio."
        claims.append(told.claim("means", words, evidence([newest])))
    stopped = [told.evidence(one, column, 0.0, unit) for one in last]
    claims += [
        told.claim(key, words, [*evidence([newest]), *(stopped if key == "stopped" else [])])
        for key, words in beyond.sentences(metric, runs[-1]).items()
    ]
    plain, verdict = _headline(series, band)
    changed = [levels[-1].first - 1, levels[-1].first, newest] if len(levels) > 1 else [newest]
    rests = sorted({*changed, *(against if band is not None and band.name in verdict else ())})
    rest = [*evidence(rests), *(stopped if beyond.newer_stopped else [])]
    tail = "".join(f"; {one}" for one in (*_apart_words(series), *beyond.newer_words(metric)))
    verdict = f"{tail}: worse" if beyond.is_stopped else verdict + tail
    return (told.headline(plain + verdict, plain + tail, rest), *claims)


def _apart_words(series: _Series) -> list[str]:
    """Return that the newest runs may be a change which is not shown yet."""
    own = series.values[series.levels[-1].first :]
    return [apart_words(own, series.apart)] if series.apart else []


def _headline(series: _Series, band: Band | None) -> tuple[str, str]:
    """Return the first sentence without its verdict and full stop, and the verdict."""
    metric, runs, levels = series.metric, series.runs, series.levels
    name = figure_words(metric)
    if len(runs) < 2 * LEAST_LEVEL:
        few = "1 run is" if len(runs) == 1 else f"{len(runs)} runs are"
        return f"{few} too few to tell a change of {name}: it takes {2 * LEAST_LEVEL}", ""
    name = f"{name[:1].upper()}{name[1:]}"
    differs = band is not None and band.outcome in {"better", "worse"}
    though = f", though against {band.name} the newest level is {band.outcome}" if band else ""
    if len(levels) == 1:
        head = f"{name}: no change is shown in {counted(len(runs), 'run')}"
        return head, though if differs else ""
    count, last = len(levels) - 1, levels[-1]
    times = {1: "once", 2: "twice"}.get(count, f"{count} times")
    head = f"{name} changed {times} in {len(runs)} runs"
    is_other = differs and band is not None and band.outcome != last.outcome
    verdict = f": {last.outcome}{though if is_other else ''}"
    return f"{head}; at last {change_words(metric, runs, last)}", verdict


def figure_words(metric: str) -> str:
    """Return the name of a figure within a sentence."""
    kind, _, name = metric.rpartition(".")
    return f"{kind} {FIGURES.get(name, name)}".strip()


def change_words(metric: str, runs: Sequence[RunSummary], level: Level) -> str:
    """Return when a level began, between which runs, and by how much it differs."""
    ends = (100 * (one or 0.0) for one in (level.change, level.low, level.high))
    change = _digits.change_words(*ends).removesuffix(")")
    before, after = runs[level.first - 1], runs[level.first]
    return (
        f"between run {before.id} and run {after.id} ({day_words(after)}), {figure_words(metric)} "
        f"{change}, p {p_equation(level.p_value or 0)})"
    )


def day_words(run: RunSummary) -> str:
    """Return the day of a run on this machine's calendar."""
    if run.started_at_unix_s is None:
        return "at a time that is not known"
    return local_words(run.started_at_unix_s, DAY)


def _also(level: Level) -> str:
    return f"; with it changed {', '.join(level.differences)}" if level.differences else ""


def _band_words(runs: Sequence[RunSummary], band: Band) -> tuple[str, str]:
    """Return what the baseline tells, with the verdict on the newest level and without it."""
    judged = "it cannot be told how the newest level is"
    if band.outcome != "cannot tell":
        judged = f"the newest level is {band.outcome}"
    place = _place_words(runs, band)
    return f"Against {band.name}, {judged}; {place}.", f"Against {band.name}, {place}."


def _place_words(runs: Sequence[RunSummary], band: Band) -> str:
    """Return how many runs are outside of the band, or why there is none."""
    if not band.has_spread:
        why = (
            "1 run has no spread" if len(runs) == 1 else "most runs do not differ from their level"
        )
        return f"there is no band, as {why}"
    count = len(band.outside)
    newest = f", the newest is run {runs[band.outside[-1]].id}" if count else ""
    return (
        f"{count} of {counted(len(runs), 'run')} {'is' if count == 1 else 'are'} "
        f"outside of its band, in which 99 % of runs like it lie{newest}"
    )
