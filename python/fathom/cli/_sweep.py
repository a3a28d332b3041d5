"""``fathom sweep``: every combination of parameters, measured or known from its neighbours."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli._exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli._sweep_shown import SweepLine, show_forecast, show_sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom.experiments._sweep import Sweep, SweepProgress
    from fathom.experiments._sweep_plan import Forecast, SweepPlan
    from fathom.store import Store

__all__ = ["sweep"]

_WARM_UP_S = 5


def sweep(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    block: Annotated[str | None, typer.Option(help="Block sizes (-b): 4K..2M or 4K,64K.")] = None,
    threads: Annotated[str | None, typer.Option(help="Threads per target (-t): 1..64.")] = None,
    depth: Annotated[str | None, typer.Option(help="Outstanding I/Os (-o): 1..64.")] = None,
    write: Annotated[str | None, typer.Option(help="Percent of writes (-w): 0,30,100.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Any other option and its values: --rate=1000..8000 or -rs=0,50,100."),
    ] = None,
    duration: Annotated[
        int | None,
        typer.Option(help="Measure every cell for so many seconds, rather than adaptively."),
    ] = None,
    warm_up: Annotated[
        int | None, typer.Option(help="Seconds before each cell: 5 with --duration, else 0.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="A cell ends once its mean is known at this level, in percent ...")
    ] = 95.0,
    precision: Annotated[float, typer.Option(help="... to within so many percent.")] = 2.0,
    longest: Annotated[int, typer.Option(help="... or after so many seconds.")] = 10,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Leave out cells that the others tell to within so many percent; 0: none. "
            "Default: 5, with --duration 0."
        ),
    ] = -1.0,
    seed: Annotated[int, typer.Option(help="Of the order of the cells.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would do and how long it would take.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(help="Go on with a sweep: its experiment, such as e7, or last.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="A word to find the sweep by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure all combinations of parameters, such as --block 4K..2M --threads 1..64 --depth 1..64.

    A range doubles; a list has commas. The rest are DiskSpd's arguments, or a target alone, which
    is read at random past the cache. Cells are measured in an order by chance until their mean is
    known; those that the others tell are interpolated, and marked so.
    """
    from fathom.experiments._axes import parse_axes  # noqa: PLC0415 - Loads NumPy.
    from fathom.experiments._sweep_plan import plan_sweep  # noqa: PLC0415 - The same.

    try:
        if resume is not None:
            _resume(resume, context.args, store, as_json=as_json)
            return
        named = {"block": block, "threads": threads, "depth": depth, "write": write}
        axes = parse_axes({name: one for name, one in named.items() if one is not None}, vary or [])
        fixed = duration is not None
        plan, forecast = plan_sweep(
            context.args,
            axes,
            mode="fixed" if fixed else "adaptive",
            duration_s=longest if duration is None else duration,
            warm_up_s=(_WARM_UP_S if fixed else 0) if warm_up is None else warm_up,
            confidence=confidence / 100,
            precision=precision / 100,
            tolerance=((0.0 if fixed else 5.0) if tolerance == -1 else tolerance) / 100,
            seed=seed,
        )
        if dry_run:
            show_forecast(plan, forecast, as_json=as_json)
            return
        with opened_store(store) as opened:
            _begin(opened, plan, forecast, label or "", as_json=as_json)
    except fathom.RunInterrupted as interruption:
        typer.echo("The cells that are done are saved: fathom sweep --resume last", err=True)
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _begin(store: Store, plan: SweepPlan, forecast: Forecast, label: str, *, as_json: bool) -> None:
    from fathom.experiments._sweep import sweep as run_sweep  # noqa: PLC0415 - Loads NumPy.
    from fathom.runners import NativeRunner  # noqa: PLC0415 - The same.

    if not as_json:
        show_forecast(plan, forecast, short=True)
    with _progress(quiet=as_json) as on_progress:
        runner = NativeRunner(store)
        found = run_sweep(store, runner, plan, label=label, on_progress=on_progress)
    _end(store, found, as_json=as_json)


def _resume(reference: str, rest: list[str], where: str | None, *, as_json: bool) -> None:
    from fathom.experiments._sweep import resume_sweep  # noqa: PLC0415 - Loads NumPy.
    from fathom.runners import NativeRunner  # noqa: PLC0415 - The same.

    if rest:
        fail(f"{rest[0]}: a sweep is resumed as it was planned, without arguments", EXIT_INVALID)
    with opened_store(where) as store:
        experiment_id = _experiment_id(store, reference)
        with _progress(quiet=as_json) as on_progress:
            runner = NativeRunner(store)
            found = resume_sweep(store, experiment_id, runner, on_progress=on_progress)
        _end(store, found, as_json=as_json)


def _experiment_id(store: Store, reference: str) -> int:
    if reference == "last":
        found = [one.id for one in store.experiments.list(verb="sweep") if one.state != "complete"]
        if not found:
            fail(f"{store.name} has no sweep to go on with", EXIT_INVALID)
        return found[0]
    number = reference.removeprefix("e")
    if not number.isdecimal():
        fail(f"{reference} is no experiment such as e7", EXIT_INVALID)
    return int(number)


def _end(store: Store, found: Sweep, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
    else:
        show_sweep(found)
        typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")
    if found.count("failed"):
        fail(f"{found.count('failed')} cells failed", EXIT_FAILED)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[SweepProgress], None]]:
    if quiet:
        yield lambda _progress: None
        return
    with SweepLine() as line:
        yield line.tell
