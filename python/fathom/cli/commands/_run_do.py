"""What ``fathom run`` does: one run, those of a workload, or a stored run again."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

import fathom
from fathom import experiments, tools
from fathom import workloads as loads_by_name
from fathom._finite import json_words
from fathom._hanging import HangingError
from fathom.cli.commands import _foresight
from fathom.cli.commands._foresight import explaining, refusal
from fathom.cli.commands._workload_argument import split_rest
from fathom.cli.common import exit_code, fail
from fathom.cli.exit_codes import EXIT_CANNOT_TELL, EXIT_FAILED, EXIT_REFUSED, EXIT_WORSE
from fathom.cli.views.progress import live_progress
from fathom.cli.views.runs import console, runs_table, show_result
from fathom.engine import load_of
from fathom.hosts import host_figures
from fathom.limits import check_measured, judge_limits, parse_limit
from fathom.runners.measure import measure
from fathom.units import clock_words, counted, size_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom import EventCallback, Result
    from fathom._permission import Permission
    from fathom.limits import Limit
    from fathom.request import Request
    from fathom.store import Store
    from fathom.workloads import Workload

__all__ = [
    "Wish",
    "foresee_run",
    "parse_limit",
    "refuse_before_a_store",
    "run_again",
    "run_new",
]


class Wish(NamedTuple):
    """What the command was told."""

    arguments: list[str]
    permission: Permission
    label: str | None
    runner: str | None
    as_json: bool
    limits: tuple[Limit, ...] = ()


def run_again(store: Store, number: int, wish: Wish, *, no_save: bool) -> None:
    """Make a stored run again.

    Raises
    ------
    InvalidRequestError
        If the store does not know all that it requested.

    """
    kept = store.runs.get(number)
    shown = f"; fathom show {number} lists what is known, for fathom run"
    if kept.imported is not None:
        raise fathom.InvalidRequestError(
            f"run {number} was imported: not all that it requested is known{shown}"
        )
    request = kept.result.request
    if not request.knows_options:
        raise fathom.InvalidRequestError(
            f"run {number} was saved by a version that did not keep all options, such as --rate "
            f"and --skew: what is run would be a guess{shown}"
        )
    _check_hosts(kept.result, number, wish.runner)
    check_measured(wish.limits, request)
    if not no_save:
        store.check_writable()
    wish = wish._replace(
        arguments=[*kept.arguments], label=kept.summary.label if wish.label is None else wish.label
    )
    with live_progress(quiet=wish.as_json) as on_event:
        _single(None if no_save else store, wish, on_event, request)


def _check_hosts(result: Result, number: int, runner: str | None) -> None:
    """Refuse to run again here what a fleet has measured, or with a fleet what one host has."""
    hosts = len(host_figures(result))
    if hosts and runner is None:
        raise fathom.InvalidRequestError(
            f"run {number} was measured by a fleet of {hosts}: name the fleet, such as --fleet "
            f"local:{hosts}"
        )
    if runner is not None and not hosts:
        raise fathom.InvalidRequestError(
            f"run {number} was measured by one host: leave out --fleet, or give the arguments that "
            f"fathom show {number} lists"
        )


def refuse_before_a_store(where: str | None, workload: Workload | None, wish: Wish) -> None:
    """Look where there is no store yet: none is made for a run that would not be saved.

    A run of this host whose target cannot be used, or does not answer, is saved as one that failed.

    Raises
    ------
    FathomError
        As the run itself would.

    """
    try:
        for load in _loads(workload, wish)[:1]:
            with suppress(HangingError):
                _foresight.refuse_before_a_store(where, load, wish.permission, wish.runner)
    except fathom.TargetError as error:
        if tools.fleet_named(wish.runner) is not None:
            raise
        if wish.runner is not None:
            # Another tool would not have begun, either, and the run ends as with a store.
            fail(error, EXIT_FAILED)


def run_new(workload: Workload | None, store: Store | None, wish: Wish) -> None:
    """Make a run, or those of a workload.

    Raises
    ------
    FathomError
        As the runners do.

    """
    _check_limits(workload, wish)
    try:
        if wish.runner is not None and tools.fleet_named(wish.runner) is None:
            _single(store, wish, None)
            return
        with live_progress(quiet=wish.as_json) as on_event:
            if workload is None:
                _single(store, wish, on_event)
            else:
                _steps(workload, store, wish, on_event)
    except fathom.RunInterrupted as interruption:
        _tell_saved(store, interruption.run_id, wish)
        raise


def _check_limits(workload: Workload | None, wish: Wish) -> None:
    if wish.limits:
        for request in map(load_of, _loads(workload, wish)):
            check_measured(wish.limits, request)


def _single(
    store: Store | None,
    wish: Wish,
    on_event: EventCallback | None,
    request: Request | None = None,
) -> None:
    results: list[tuple[str, Result]] = []

    def show(result: Result) -> None:
        results.append(("", result))
        if wish.as_json:
            typer.echo(json_words(dict(result.raw)))
        else:
            show_result(result)

    fleet = tools.fleet_named(wish.runner)
    other = None if fleet else tools.foreign_runner(wish.runner, store, wish.permission)
    if fleet is not None:
        many = tools.fleet_runner(store, fleet, wish.permission).telling(on_event)
        done = many.measure(wish.arguments, request=request, label=wish.label or "", show=show)
    elif other is None:
        done = measure(
            store,
            wish.arguments,
            request=request,
            label=wish.label or "",
            on_event=on_event,
            permission=wish.permission,
            show=show,
        )
    else:
        done = other.measure(wish.arguments, label=wish.label or "", show=show)
    _tell_saved(store, done.run_id, wish)
    if done.error is not None:
        fail(done.error, exit_code(done.error))
    _require(results, wish)


def _tell_saved(store: Store | None, run_id: int | None, wish: Wish) -> None:
    if store is not None and run_id is not None:
        # The result alone goes to the standard output, as its schema has it.
        typer.echo(f"Saved as run {run_id} in {store.name}", err=wish.as_json)


def _steps(
    workload: Workload, store: Store | None, wish: Wish, on_event: EventCallback | None
) -> None:
    """Run each step of a workload; several are an experiment."""
    wishes, targets = split_rest(wish.arguments)
    results: list[tuple[str, Result]] = []

    def show(step: str, result: Result) -> None:
        results.append((step, result))
        if not wish.as_json:
            typer.echo(f"{workload.title}{': ' if step else ''}{step}")
            show_result(result)

    done = experiments.run_workload(
        store,
        workload,
        wishes,
        targets,
        label=wish.label or workload.name,
        on_event=on_event,
        permission=wish.permission,
        show=show,
    )
    if wish.as_json:
        raw = [dict(result.raw) for _step, result in results]
        typer.echo(json_words(raw if len(workload.steps) > 1 else raw[0]))
    elif store is not None and done.experiment_id is not None:
        found = store.runs.list(experiment_id=done.experiment_id)
        console().print(runs_table(reversed(found)))
    if store is not None and done.experiment_id is not None:
        typer.echo(f"Saved as experiment e{done.experiment_id} in {store.name}", err=wish.as_json)
    else:
        _tell_saved(store, next(iter(done.run_ids), None), wish)
    if done.failures:
        words = "; ".join(f"{step}: {why}" if step else why for step, why in done.failures.items())
        more = "; no further step was run" if done.ended_by and len(workload.steps) > 1 else ""
        fail(f"{words}{more}", EXIT_FAILED)
    _require(results, wish)


def foresee_run(workload: Workload | None, wish: Wish) -> None:
    """Say what runs would do, and whether the guard would let them; nothing is written or made.

    Raises
    ------
    FathomError
        As ``fathom.explain``.

    """
    _check_limits(workload, wish)
    told = _foreseen(workload, wish)
    if wish.as_json:
        typer.echo(json_words(told if len(told) > 1 else told[0]))
    else:
        typer.echo(_length(told, is_fleet=tools.fleet_named(wish.runner) is not None))
        for words in dict.fromkeys(words for one in told for words in _explained(one)):
            typer.echo(words)
    if not all(one["would_run"] for one in told):
        raise typer.Exit(EXIT_REFUSED)


def _length(told: Sequence[Any], *, is_fleet: bool) -> str:
    """Return how many runs there are, and how long they take; hosts run at the same time."""
    if is_fleet:
        return f"1 run on {counted(len(told), 'host')}, about {clock_words(told[0]['duration_s'])}"
    seconds = clock_words(sum(one["duration_s"] for one in told))
    return f"{counted(len(told), 'run')}, about {seconds}"


def _foreseen(workload: Workload | None, wish: Wish) -> list[Any]:
    """Return what is reported of each run; in a fleet, what each host tells of it."""
    loads = _loads(workload, wish)
    with explaining(wish.permission, wish.runner) as explain:
        return [told for one in loads for told in explain(one)]


def _explained(told: Any) -> Iterator[str]:  # noqa: ANN401 - JSON.
    """Return a line for each file that is made and each target, refused or not."""
    for file in told["files"]:
        yield f"{file['path']}: {file['fate']}, {size_words(file['write_bytes'])} written before"
    for target in told["targets"]:
        does = "written and read" if target["is_written"] else "only read"
        yield f"{target['path']}: {does}"
        if why := refusal(target):
            yield f"  {why}"
    yield from told["notes"]


def _loads(workload: Workload | None, wish: Wish) -> list[list[str]]:
    """Return all arguments of each run; a fleet has no workloads."""
    if workload is None:
        return [wish.arguments]
    rest = split_rest(wish.arguments)
    return [loads_by_name.run_arguments(workload, step, *rest) for step in workload.steps]


def _require(results: Sequence[tuple[str, Result]], wish: Wish) -> None:
    """Say what was measured against each limit, and end with the exit code of the worst."""
    judged = [(step, one) for step, result in results for one in judge_limits(result, wish.limits)]
    for step, one in judged:
        # The result alone goes to the standard output, as its schema has it.
        typer.echo(f"{step}: {one.words}" if step else one.words, err=wish.as_json)
    decisions = {one.decision for _step, one in judged}
    if "broken" in decisions:
        raise typer.Exit(EXIT_WORSE)
    if "cannot tell" in decisions:
        raise typer.Exit(EXIT_CANNOT_TELL)
