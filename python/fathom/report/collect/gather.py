"""From references - experiments, runs, baselines, files of results - to what a report shows."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom._files import is_file, read_text
from fathom._local_time import DAY, SECOND, local_words
from fathom._text import json_of, shell_line
from fathom.errors import FathomError
from fathom.experiments import compare as comparing
from fathom.report.collect._again import again
from fathom.report.collect._assess import assess_sides, planned_cells, targets_compared
from fathom.report.collect._compare import changes_of, compare_sides, told_changes
from fathom.report.collect._density import density_side
from fathom.report.collect._failed import with_failures, with_given_names
from fathom.report.collect._points import run_of_result, run_of_stored
from fathom.report.collect._prepare import look_side, settled_side, written_side
from fathom.report.collect._runs import repeat_side, runs_side
from fathom.report.collect._sweep import cells_of, shown_runs, sweep_side, tune_side
from fathom.report.material import Material
from fathom.result import Result
from fathom.store.damage import damage_told
from fathom.store.references import experiment_number
from fathom.units import first_listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.report.material import Change, ReportedRun, Side, TargetsCompared
    from fathom.store import Experiment, RunSummary, Store

    _Changed = tuple[tuple[Change, ...], tuple[str, ...], tuple[str, ...]]

__all__ = ["ReportError", "gather"]

_PAIR = 2
# A title of more is longer than what stands below it.
# An export of thousands of whole runs has less.
_MOST_MIB = 1024
# More whole runs than this take memory and tell nobody more.
_MOST_RUNS = 200
# Of these, all runs that belong into figures are taken, or the side tells which ones.
_WHOLE = ("prepare", "sweep", "tune")


class ReportError(FathomError):
    """There is nothing of which a report could be made, or no place for it; nothing was written."""


def gather(store: Store | None, references: Sequence[str]) -> Material:
    """Return what a report of these references shows; without any, of the newest experiment.

    ``store`` is needed for references that are no files.

    Raises
    ------
    NotFoundError
        If a reference names nothing.
    ReportError
        If a file holds no result, or there is nothing to show.

    """
    # What is named twice has no other side.
    wanted = [*dict.fromkeys(references)] or [_newest(store)]
    sides: list[Side] = []
    times: list[float] = []
    origins: list[str] = []
    for reference in wanted:
        found, happened = _sides(store, reference)
        sides += found
        times += happened
        origins += [_origin(reference, happened)] * len(found)
    sides = _told_apart(sides, origins)
    changes, differences, told = _changes(store, wanted)
    return Material(
        # Each stands above its own part.
        title=first_listed([*dict.fromkeys(one.name for one in sides)]),
        command=shell_line(shlex.join(["fathom", "report", *wanted])),
        sides=tuple(replace(one, commands=tuple(map(shell_line, one.commands))) for one in sides),
        happened=_period(times),
        changes=changes,
        differences=differences,
        compared=_compared(store, wanted),
        told=told,
    )


def _compared(store: Store | None, references: Sequence[str]) -> TargetsCompared | None:
    """Return the comparison of an assessment's targets, if the report is of that alone."""
    if store is None or len(references) != 1 or is_file(references[0]):
        return None
    experiment = _experiment(store, references[0])
    is_one = experiment is not None and experiment.verb == "assess"
    return targets_compared(experiment) if is_one and experiment is not None else None


def _told_apart(sides: Sequence[Side], origins: Sequence[str]) -> list[Side]:
    """Return the sides with names that tell them apart.

    Where different tools measured, these stand in them; of equal names, where each is from.
    """
    names = [one.name for one in sides]
    if len({one.tool for one in sides if one.tool}) >= _PAIR:
        names = [f"{one.name} ({one.tool})" if one.tool else one.name for one in sides]
    names = [
        f"{name} ({origin})" if names.count(name) > 1 else name
        for name, origin in zip(names, origins, strict=True)
    ]
    names = [
        f"{name}, number {names[: at + 1].count(name)}" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]
    return [replace(one, name=name) for one, name in zip(sides, names, strict=True)]


def _origin(reference: str, happened: Sequence[float]) -> str:
    """Return where a side is from: the experiment, run, baseline or file, and when it began."""
    words = f"run {reference}" if reference.isdigit() else reference
    if not happened:
        return words
    return f"{words}, {local_words(min(happened))}"


def _newest(store: Store | None) -> str:
    experiments = store.experiments.list(limit=1) if store else []
    runs = store.runs.list(limit=1) if store else []
    if experiments and (not runs or runs[0].experiment_id == experiments[0].id):
        return f"e{experiments[0].id}"
    if not runs:
        raise ReportError("the store is empty: measure first, such as with fathom assess FOLDER")
    return str(runs[0].id)


def _sides(store: Store | None, reference: str) -> tuple[list[Side], list[float]]:
    path = Path(reference)
    if path.suffix.lower() == ".json" or (is_file(reference) and not _is_in(store, reference)):
        runs = _runs_of_file(path)
        return [runs_side(path.name, runs)], _began(runs)
    if store is None:
        raise ReportError(f"{reference} is no file, and there is no store")
    experiment = _experiment(store, reference)
    if experiment is not None:
        ended = experiment.ended_at_unix_s or experiment.started_at_unix_s
        return _experiment_sides(store, experiment), [experiment.started_at_unix_s, ended]
    found = [run_of_stored(store.runs.get(one)) for one in store.baselines.run_ids(reference)]
    if not found:
        raise ReportError(f"{reference} has no runs")
    name = _name_of(found, reference)
    return [runs_side(name, found)], _began(found)


def _name_of(runs: Sequence[ReportedRun], reference: str) -> str:
    """Return what runs are called together: one of one load by that."""
    if len(runs) > 1:
        return reference
    is_of_one_load = len(runs[0].result.time_spans) <= 1 or runs[0].facts.get("label")
    return runs[0].label if is_of_one_load else _origin(reference, ())


def _is_in(store: Store | None, reference: str) -> bool:
    """Whether the store has something of this name: a file of the same name is named ``./e4``."""
    if store is None:
        return False
    number = experiment_number(reference)
    try:
        return bool(store.experiments.get(number) if number else store.baselines.run_ids(reference))
    except FathomError:
        return False


def _began(runs: Sequence[ReportedRun]) -> list[float]:
    """Return when the runs began, of those that tell it."""
    times = [one.facts.get("started_at_unix_s") for one in runs]
    return [float(one) for one in times if one is not None]


def _runs_of_file(path: Path) -> list[ReportedRun]:
    """Read what ``diskspd --json`` or ``fathom export --table whole`` wrote."""
    try:
        text = read_text(path, most_mib=_MOST_MIB)
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise ReportError(f"{path} cannot be read: it is no text") from None
    try:
        data: Any = json_of(text)
        whole = data if isinstance(data, list) else [data]
        raws = [one.get("result", one) for one in whole]
        results = [Result.from_json(json.dumps(one)) for one in raws]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReportError(
            f"{path} holds no result of diskspd --json or fathom export --table whole: {error}"
        ) from error
    if not results:
        raise ReportError(f"{path} holds no result")
    summaries = [one.get("summary", {}) for one in whole]
    labels = [one.get("label") or "" for one in summaries]
    return [run_of_result(one, label) for one, label in zip(results, labels, strict=True)]


def _experiment(store: Store, reference: str) -> Experiment | None:
    number = experiment_number(reference)
    if number is not None:
        return store.experiments.get(number)
    named = {one.name: one.experiment_id for one in store.baselines.list()}
    experiment_id = named.get(reference)
    return None if experiment_id is None else store.experiments.get(experiment_id)


def _experiment_sides(store: Store, experiment: Experiment) -> list[Side]:
    with damage_told(experiment.id):
        sides = _sides_of(store, experiment)
        claims = (experiment.outcome or {}).get("claims") or [{}]
        if not claims[0].get("forbidden_by"):
            return sides
        return [replace(one, is_barred=True) for one in sides]


def _sides_of(store: Store, experiment: Experiment) -> list[Side]:
    summaries = [*reversed(store.runs.list(experiment_id=experiment.id))]
    complete = [one for one in summaries if one.outcome == "complete"]
    make = SIDES.get(experiment.verb, _of_runs)
    sides = with_failures(make(store, experiment, complete), experiment, summaries)
    if experiment.verb != "assess":
        return _with_note_of_others(experiment, sides, len(complete))
    known = [*experiment.plan.get("sizes", ()), *([None] * len(sides))]
    return [with_given_names(side, size) for side, size in zip(sides, known, strict=False)]


def _with_note_of_others(experiment: Experiment, sides: list[Side], runs: int) -> list[Side]:
    """Say which runs the sides have where they do not have all; a grid says so itself."""
    if runs <= _MOST_RUNS or not sides or experiment.verb in _WHOLE:
        return sides
    note = f"Of its {runs:,} whole runs, what is shown and counted here are the first {_MOST_RUNS}."
    return [replace(sides[0], notes=(*sides[0].notes, note)), *sides[1:]]


def _of_assess(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    return [*assess_sides(experiment, _assessed(store, experiment, complete))]


def _of_prepare(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    return [_prepared(store, experiment, complete)]


def _of_grid(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    whole = {one.id for one in complete}
    runs = [
        run_of_stored(store.runs.get(one), label=label)
        for one, label in shown_runs(experiment.outcome or {})
        if one in whole
    ]
    sample = runs[0] if runs else None
    if sample is None and complete:
        sample = run_of_stored(store.runs.get(complete[0].id))
    commands = [one.columns["command_line"] for one in complete]
    make = sweep_side if experiment.verb == "sweep" else tune_side
    return [make(experiment, sample, commands, runs, _judged(store, experiment, complete, runs))]


def _judged(
    store: Store,
    experiment: Experiment,
    complete: Sequence[RunSummary],
    shown: Sequence[ReportedRun],
) -> list[ReportedRun]:
    """Return the runs of a grid in which findings are looked for: those with marks come first."""
    cells = cells_of(experiment.outcome or {})
    marked = {one.get("run_id") for one in cells if one.get("findings")}
    ordered = sorted((one.id for one in complete), key=lambda run: run not in marked)
    known = {one.run_id: one for one in shown}
    return [
        known.get(one) or run_of_stored(store.runs.get(one)) for one in sorted(ordered[:_MOST_RUNS])
    ]


def _runs(
    store: Store, experiment: Experiment, complete: Sequence[RunSummary]
) -> list[ReportedRun]:
    runs = [run_of_stored(store.runs.get(one.id)) for one in complete[:_MOST_RUNS]]
    if not runs:
        raise ReportError(f"experiment e{experiment.id} has no complete run")
    return runs


def _of_compare(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    runs = _runs(store, experiment, complete)
    by_id = {one.run_id: one for one in runs if one.run_id is not None}
    return [*compare_sides(experiment, comparing.compared_interleaved(store, experiment.id), by_id)]


def _of_repeat(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    runs = _runs(store, experiment, complete)
    name = experiment.name if experiment.name != "repeat" else f"repetition e{experiment.id}"
    return [repeat_side(name, experiment.outcome, runs, again(experiment))]


def _of_density(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    runs = [run_of_stored(store.runs.get(one.id)) for one in complete[:_MOST_RUNS]]
    return [density_side(experiment, runs)]


def _of_runs(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    runs = _runs(store, experiment, complete)
    return [runs_side(f"{experiment.verb} e{experiment.id}", runs)]


def _of_scale(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> list[Side]:
    (side,) = _of_runs(store, experiment, complete)
    return [replace(side, commands=(again(experiment), *side.commands))]


SIDES: Mapping[str, Callable[[Store, Experiment, Sequence[RunSummary]], list[Side]]] = {
    "assess": _of_assess,
    "prepare": _of_prepare,
    "sweep": _of_grid,
    "tune": _of_grid,
    "compare": _of_compare,
    "repeat": _of_repeat,
    "density": _of_density,
    "scale": _of_scale,
}
"""What the report shows of the experiments of a verb; of others, their runs."""


def _prepared(store: Store, experiment: Experiment, complete: Sequence[RunSummary]) -> Side:
    kind = experiment.plan["kind"]
    if kind == "look":
        return look_side(experiment)
    if kind == "wdpc":
        return settled_side(experiment, [run_of_stored(store.runs.get(one.id)) for one in complete])
    sample = run_of_stored(store.runs.get(complete[0].id)) if complete else None
    return written_side(experiment, sample, complete)


def _assessed(
    store: Store, experiment: Experiment, complete: Sequence[RunSummary]
) -> list[ReportedRun]:
    """Return the runs of an assessment with what its plan says of them."""
    cells = planned_cells(experiment)
    if not cells:
        parts = {
            step.id: (step.parameters.get("part", ""), step.label) for step in experiment.steps
        }
        for one in complete:
            part, label = parts.get(one.step_id or 0, ("", one.label))
            for name in experiment.plan["targets"]:
                label = label.removeprefix(f"{name}: ")
            key = one.label.removeprefix("assess ")
            # Rounds of steady state are many alike.
            if not key.startswith(("steady-", "precondition")):
                cells[one.id] = (key, part, label)
    found = [one.id for one in complete if one.id in cells]
    return [
        run_of_stored(
            store.runs.get(one), key=cells[one][0], part=cells[one][1], label=cells[one][2]
        )
        # Each target has a few; of the last ones, none would be left within a limit for all.
        for one in found
    ]


def _period(times: Sequence[float]) -> str:
    if not times:
        return ""
    first, last = min(times), max(times)
    begun = local_words(first, f"{SECOND} %Z")
    is_same_day = local_words(first, DAY) == local_words(last, DAY)
    ended = local_words(last, "%H:%M:%S" if is_same_day else SECOND)
    return begun if last - first < 1 or begun == ended else f"{begun} to {ended}"


def _changes(store: Store | None, references: Sequence[str]) -> _Changed:
    """Return how figures changed from one reference to the other, if both are of one load.

    With that, what else differs, and what is said of both.
    """
    if store is None or any(is_file(one) for one in references):
        return (), (), ()
    if len(references) == 1:
        return _changes_interleaved(store, references[0])
    if len(references) != _PAIR:
        return (), (), ()

    try:
        found = comparing.compare_runs(store, *references)
    except FathomError:
        return (), (), ()
    if any("load" in one for one in found.differences):
        return (), tuple(found.differences), ()
    return changes_of(found), tuple(found.differences), tuple(told_changes(found))


def _changes_interleaved(store: Store, reference: str) -> _Changed:
    experiment = _experiment(store, reference)
    if experiment is None or experiment.verb != "compare":
        return (), (), ()

    found = comparing.compared_interleaved(store, experiment.id).comparison
    if found is None:
        return (), (), ()
    # Its sentences are those of side A.
    return changes_of(found), tuple(found.differences), ()
