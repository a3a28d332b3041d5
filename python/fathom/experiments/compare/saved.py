"""Comparing two sets of saved runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fathom._asked import OPTION_DEFAULTS, options_of_load
from fathom.errors import FathomError, InvalidRequestError
from fathom.experiments._run_histograms import RunHistograms
from fathom.experiments.compare._figures import ComparedFigures, SideFigures, compare_figures
from fathom.experiments.compare._of_imported import imported_differences, told_figures
from fathom.experiments.compare._shared import refuse_same, shared_doubts
from fathom.experiments.compare._words import differing, term
from fathom.experiments.compare.claims import with_claims
from fathom.experiments.compare.comparison import RunComparison
from fathom.experiments.compare.gate import FailCondition, parse_condition, verdict
from fathom.experiments.session import complete_runs
from fathom.findings.finding import numbers_words
from fathom.metrics import (
    higher_is_better,
    imported_series,
    interval_series,
    metric_column,
    quantile_of,
    run_buckets,
    run_value,
)
from fathom.stats import find_transient
from fathom.stats.percentiles import TooFewIos, percentile_of_each_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats import Comparison
    from fathom.stats.floats import FloatArray, Values
    from fathom.store import Store, StoredRun

__all__ = [
    "FailCondition",
    "compare_drawn_pairs",
    "compare_runs",
    "parse_condition",
    "pilot_of",
]

DEFAULT_METRICS = ("iops", "mib_per_s", "mean", "p99", "p999")
# What may differ between two runs of the same load: where the file lies, and chance.
_NO_LOAD = {"path", "random_seed", "format", "verbose", "progress_every_ios", "create_bytes"}
_MACHINE = ("host_name", "kernel", "cpu_model", "cpu_count", "cpu_governor", "memory_bytes")
_DEVICE = (
    "device_model",
    "device_serial",
    "device_firmware",
    "device_scheduler",
    "target_file_system",
)
_LEAST_FOR_TRANSIENT = 20
_ITEM = re.compile(r"\b(time_spans|targets)\[\d+\]")


class _NothingToCompareError(FathomError):
    pass


class _Pairing(NamedTuple):
    """Those of ``compare_means``, and what keeps the sides from being two samples."""

    in_turns: bool = False
    is_drawn: bool = False
    shared: tuple[str, ...] = ()


def compare_runs(  # noqa: PLR0913 - All but the first three have defaults and names.
    store: Store,
    a_reference: str,
    b_reference: str,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    confidence: float = 0.95,
    conditions: Sequence[FailCondition] = (),
) -> RunComparison:
    """Compare the runs that two references name; it says which are not complete, and left out.

    Runs that were interleaved, one of A beside one of B, are compared pair by pair. Where a run is
    on both sides, by its number or as an imported copy, no figure can be told.

    Raises
    ------
    NotFoundError
        If a reference names nothing.
    InvalidRequestError
        If both sides are the same runs.
    FathomError
        If it names no complete run.

    """
    (a, left_a), (b, left_b) = (_complete(store, one) for one in (a_reference, b_reference))
    refuse_same(a, b, (a_reference, b_reference))
    pilots, shared = (pilot_of(store, a), pilot_of(store, b)), shared_doubts(a, b)
    pairing = _Pairing(in_turns=not shared and _in_turns(a, b), shared=shared)
    found = _compared((a, b), pilots, pairing, metrics, confidence, conditions)
    left = [*_left_out("A", left_a), *_left_out("B", left_b)]
    found = replace(found, notes=(*found.notes, *left))
    return with_claims(_with_names(store, found, (a, b)), (a, b))


def compare_drawn_pairs(  # noqa: PLR0913 - All but the first three have defaults and names.
    store: Store,
    pairs: Sequence[tuple[int, int]],
    pilot: int | None,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    confidence: float = 0.95,
    conditions: Sequence[FailCondition] = (),
) -> RunComparison:
    """Compare complete runs that were interleaved: a run of A and one of B in each pair.

    Which of both came first was drawn by chance. ``pilot`` counts the pairs whose spread decided
    how many there are, if it did. There are at least 2 pairs.
    """
    sides = tuple([store.runs.get(run_id) for run_id in side] for side in zip(*pairs, strict=True))
    pairing = _Pairing(in_turns=True, is_drawn=True)
    both = sides[0], sides[1]
    found = _compared(both, (pilot, pilot), pairing, metrics, confidence, conditions)
    return with_claims(_with_names(store, found, both), both)


def _with_names(
    store: Store, found: RunComparison, sides: tuple[Sequence[StoredRun], Sequence[StoredRun]]
) -> RunComparison:
    """Return a comparison that says where one target has another name in A than in B.

    The series of a run, which was noted when it was saved, has the runs of one target.
    """
    a, b = ({str(run.summary.columns["target_path"]) for run in side} for side in sides)
    if a == b:
        return found
    series = {run.id for run in store.runs.series(sides[0][0].summary.id)}
    if not all(run.summary.id in series for side in sides for run in side):
        return found
    in_a, in_b = (", ".join(sorted(names)) for names in (a, b))
    note = f"A and B are of one target, which is called {in_a} in A and {in_b} in B."
    return replace(found, notes=(*found.notes, note))


def _compared(  # noqa: PLR0913, PLR0917 - What both ways to find the runs share.
    sides: tuple[Sequence[StoredRun], Sequence[StoredRun]],
    pilots: tuple[int | None, int | None],
    pairing: _Pairing,
    metrics: Sequence[str],
    confidence: float,
    conditions: Sequence[FailCondition],
) -> RunComparison:
    a, b = sides

    def compared(names: Sequence[str], *, with_latency: bool) -> ComparedFigures:
        figures = (_figures(runs, names, pilot) for runs, pilot in zip(sides, pilots, strict=True))
        found = compare_figures(
            *figures,
            confidence=confidence,
            in_turns=pairing.in_turns,
            is_drawn=pairing.is_drawn,
            # What is on both sides tells nothing of how the distributions differ by chance.
            with_latency=with_latency and not pairing.shared,
        )
        return replace(found, metrics=_doubted(found.metrics, pairing.shared))

    whole = compared(metrics, with_latency=True)
    asked = compared([*dict.fromkeys(one.metric for one in conditions)], with_latency=False)
    missing = {name: f"{told_figures(a, b, name)}{why}" for name, why in whole.missing.items()}
    return RunComparison(
        whole.metrics,
        missing,
        whole.latency,
        _differences(a, b),
        [verdict(one, asked, len(conditions)) for one in conditions],
        [
            f"{name} is that of each run, of which the mean is compared, as a run has no histogram."
            for name in whole.metrics
            if quantile_of(name) and any(run_buckets(run.result, name) is None for run in (*a, *b))
        ],
    )


def _doubted(
    metrics: Mapping[str, Comparison], doubts: tuple[str, ...]
) -> Mapping[str, Comparison]:
    return {name: replace(one, doubts=(*doubts, *one.doubts)) for name, one in metrics.items()}


def _in_turns(a: Sequence[StoredRun], b: Sequence[StoredRun]) -> bool:
    """Whether each two runs that follow each other are one of A and one of B."""
    if len(a) != len(b) or len(a) < 2:  # noqa: PLR2004 - A pair may be by chance.
        return False
    if any(run.summary.started_at_unix_s is None for run in (*a, *b)):
        # Nobody knows which came first.
        return False
    order = sorted((*_when(run), side) for side, runs in enumerate((a, b)) for run in runs)
    sides = [side for *_, side in order]
    return all(one != other for one, other in zip(sides[::2], sides[1::2], strict=True))


def _figures(runs: Sequence[StoredRun], metrics: Sequence[str], pilot: int | None) -> SideFigures:
    latencies = [run.result.total.latency for run in runs]
    buckets = [one.buckets for one in latencies if one is not None]
    histograms = RunHistograms(
        [run.summary for run in runs], {run.summary.id: run.result for run in runs}.__getitem__
    )
    return SideFigures(
        {metric: _values(runs, metric, histograms) for metric in metrics},
        buckets if len(buckets) == len(runs) else None,
        pilot,
    )


def _left_out(side: str, runs: Sequence[int]) -> list[str]:
    """Return the sentence that says which runs of a side are not compared, if any."""
    if not runs:
        return []
    words = numbers_words(sorted(runs))
    is_are = "is left out: it is" if len(runs) == 1 else "are left out: they are"
    return [f"Of {side}, {words} {is_are} not complete."]


def _complete(store: Store, reference: str) -> tuple[list[StoredRun], list[int]]:
    """Return the complete runs that a reference names, and the numbers of the others."""
    for experiment_id in re.findall(r"(?<!\w)e([0-9]{1,18})(?!\w)", reference):
        if store.experiments.get(int(experiment_id)).verb == "compare":
            raise InvalidRequestError(
                f"e{experiment_id} has runs of an A and a B already: fathom compare "
                f"e{experiment_id} compares these; to compare others, name the runs"
            )
    runs = [store.runs.get(run_id) for run_id in store.baselines.run_ids(reference)]
    complete = [run for run in runs if run.summary.outcome == "complete"]
    if not complete:
        raise _NothingToCompareError(f"{reference} has no complete run to compare")
    left = [run.summary.id for run in runs if run.summary.outcome != "complete"]
    # In the order of time, since runs resemble their neighbours.
    return sorted(complete, key=_when), left


def _when(run: StoredRun) -> tuple[float, int]:
    """Return what orders runs: their start, where it is known, and then their number.

    Short runs begin within one second, so that their starts alone do not tell which came first.
    """
    return run.summary.started_at_unix_s or 0.0, run.summary.id


def pilot_of(store: Store, runs: Sequence[StoredRun]) -> int | None:
    """Return the pilot of the one experiment that all runs are of, if it was one of repeating.

    Runs that failed or were interrupted before it went on are no part of it, and change nothing.
    """
    ids = {run.summary.experiment_id for run in runs}
    (only,) = ids if len(ids) == 1 else (None,)
    if only is None:
        return None
    experiment = store.experiments.get(only)
    pilot = experiment.plan.get("pilot") if experiment.verb == "repeat" else None
    whole = len(complete_runs(store, only)) == len(runs)
    return pilot if isinstance(pilot, int) and whole and len(runs) >= pilot else None


def _values(
    runs: Sequence[StoredRun], metric: str, histograms: RunHistograms
) -> Sequence[Values] | TooFewIos | str:
    """Return one value of each run, or of a single run its intervals without the warm-up.

    Those of a percentile are what each run says of that of all I/Os (``percentile_of_each_run``).
    In words why there is none, if a run has no such figure.
    """
    merged, quantile = histograms.of(metric), quantile_of(metric)
    if merged is not None and quantile is not None:
        if len(runs) == 1:
            return "one run tells nothing of how a percentile differs from run to run: repeat it"
        found = percentile_of_each_run(merged, quantile)
        return found if isinstance(found, TooFewIos) else [*found]
    stopped = [run.summary.id for run in runs if run.summary.columns[metric_column(metric)] == 0]
    if stopped and higher_is_better(metric):
        return f"run {stopped[0]} has a rate of 0, and no change is a ratio to 0"
    if len(runs) == 1:
        imported = runs[0].imported
        series = (
            interval_series(runs[0].result, metric)
            if imported is None
            else imported_series(imported, metric)
        )
        if series is not None:
            return [_settled(series)]
    values = [run_value(run.summary, metric) for run in runs]
    if any(value is None for value in values):
        return (
            "a run has no such figure; latencies need -L, and imported runs have what their "
            "source tells"
        )
    return [value for value in values if value is not None]


def _settled(series: FloatArray) -> FloatArray:
    if series.size < _LEAST_FOR_TRANSIENT:
        return series
    transient = find_transient(series)
    return series[transient.count :] if transient.is_over else series


def _differences(a: Sequence[StoredRun], b: Sequence[StoredRun]) -> list[str]:
    def told(what: str, key: str) -> str | None:
        a_values, b_values = (
            {str(run.summary.columns[key] or "unknown") for run in side} for side in (a, b)
        )
        if a_values == b_values:
            return None
        sides = (", ".join(sorted(one)) or "unknown" for one in (a_values, b_values))
        return f"{what} differs: {term(key)} is {' in A and '.join(sides)} in B."

    is_imported = any(run.imported is not None for run in (*a, *b))
    sentences: list[str | None] = []
    if is_imported:
        sentences += imported_differences(a, b)
    elif {_load(run) for run in a} != {_load(run) for run in b}:
        sentences.append(f"The load differs: {_load_words(a, b)}.")
    elif len({_load(run) for run in (*a, *b)}) > 1:
        sentences.append("The runs of one side differ in their load among themselves.")
    compared = {
        "The machine": _MACHINE,
        "The device": _DEVICE,
        "The target": () if is_imported else ("target_size_bytes",),
        "The tool": ("tool_version",),
    }
    sentences += [told(what, key) for what, keys in compared.items() for key in keys]
    return [one for one in sentences if one]


def _load(run: StoredRun) -> str:
    """Return a load as text: its profile and its options; what is off may have no name."""
    return json.dumps({key: one for key, one in _settings(run).items() if one}, sort_keys=True)


def _settings(run: StoredRun) -> dict[str, object]:
    """Return what was requested of the load, by the places of the settings."""
    request = run.result.raw["request"]
    options = {
        name: value
        for name, value in options_of_load(request).items()
        if value != OPTION_DEFAULTS.get(name)
    }
    return _flat(_load_of({**request["profile"], **options}))


def _load_of(value: Any) -> Any:  # noqa: ANN401 - Any JSON.
    if isinstance(value, dict):
        return {key: _load_of(one) for key, one in value.items() if key not in _NO_LOAD}
    return [_load_of(one) for one in value] if isinstance(value, list) else value


def _load_words(a: Sequence[StoredRun], b: Sequence[StoredRun]) -> str:
    """Return the names of the settings that differ, with their values, and where if not in all."""
    flat = [_settings(runs[0]) for runs in (a, b)]
    everything = sorted({*flat[0], *flat[1]})
    alone = _alone(flat)
    whole = [f"{_place(item, everything)[:-2]} is in {side} alone" for item, side in alone.items()]
    keys = [one for one in everything if not one.startswith(tuple(f"{item}." for item in alone))]
    found: dict[str, list[str]] = {}
    for key in (one for one in keys if (flat[0].get(one) or 0) != (flat[1].get(one) or 0)):
        words = differing(key, flat[0].get(key), flat[1].get(key))
        found.setdefault(words, []).append(key)
    by_place: dict[str, dict[str, None]] = {}
    for words, mine in found.items():
        alike = {key for key in keys if _name(key) == _name(mine[0])}
        places = {""} if alike == {*mine} else dict.fromkeys(_place(one, keys) for one in mine)
        for place in places:
            by_place.setdefault(place, {})[words] = None
    parts = [f"{place}{'; '.join(words)}" for place, words in sorted(by_place.items())]
    return "; ".join([*whole, *parts]) or "the runs of one side differ among themselves"


def _alone(flat: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """Return the time spans and targets that one side alone has, each with the side."""
    a, b = ({key[: one.end()] for key in side for one in _ITEM.finditer(key)} for side in flat)
    alone = dict.fromkeys(a - b, "A") | dict.fromkeys(b - a, "B")
    within = tuple(f"{item}." for item in alone)
    return {item: alone[item] for item in sorted(alone) if not item.startswith(within)}


def _name(key: str) -> str:
    """Return the name of a setting, whichever time span and target it is of."""
    return re.sub(r"\[\d+\]", "", key)


def _place(key: str, keys: Sequence[str]) -> str:
    """Return of which time span and target a setting is, where there are several of them."""
    told = []
    for what in ("time_span", "target"):
        number = re.search(rf"\b{what}s\[(\d+)\]", key)
        if number and any(re.search(rf"\b{what}s\[1\]", one) for one in keys):
            told.append(f"{what.replace('_', ' ')} {int(number[1]) + 1}")
    return f"{', '.join(told)}: " if told else ""


def _flat(value: Any, name: str = "") -> dict[str, object]:  # noqa: ANN401 - Any JSON.
    if isinstance(value, dict):
        pairs = [(f"{name}.{key}".lstrip("."), one) for key, one in value.items()]
    elif isinstance(value, list):
        pairs = [(f"{name}[{index}]", one) for index, one in enumerate(value)]
    else:
        return {name: value}
    return {key: one for pair in pairs for key, one in _flat(pair[1], pair[0]).items()}
