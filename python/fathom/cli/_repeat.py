"""``fathom repeat``: the same run until its mean is known well enough."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli._exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli._progress import live_progress
from fathom.cli._shown import console, text_table
from fathom.cli._workload_argument import single_step

if TYPE_CHECKING:
    from fathom.experiments._repeat import Repetition
    from fathom.store import Store

__all__ = ["repeat"]

_NANOS_PER_MILLI = 1_000_000


def repeat(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    metric: Annotated[
        str, typer.Option(help="The figure to know: iops, mib_per_s, mean, p99, read.p99, ...")
    ] = "iops",
    precision: Annotated[
        float, typer.Option(help="Half of the interval's width, in percent of the mean.")
    ] = 0.8,
    confidence: Annotated[float, typer.Option(help="Of the interval, in percent.")] = 95.0,
    pilot: Annotated[
        int, typer.Option(help="Runs whose spread decides how many there will be.")
    ] = 10,
    most: Annotated[int, typer.Option(help="Never more runs than this.")] = 60,
    label: Annotated[str | None, typer.Option(help="A word to find the runs by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Repeat a run until the interval of its mean is narrow enough.

    The arguments are DiskSpd's, or a workload of one run and a target, as for fathom run.
    """
    from fathom.experiments._repeat import RepeatPolicy  # noqa: PLC0415 - Loads NumPy.
    from fathom.experiments._repeat import repeat as repeat_runs  # noqa: PLC0415 - The same.

    try:
        policy = RepeatPolicy(metric, precision / 100, confidence / 100, pilot, most)
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    try:
        arguments, name = single_step(context.args)
        with opened_store(store) as opened, live_progress(quiet=as_json) as on_event:

            def on_run(done: int, planned: int | None) -> None:
                if not as_json:
                    of = f"of {planned}" if planned else f"of {policy.pilot} of the pilot"
                    typer.echo(f"run {done} {of}", err=True)

            found = repeat_runs(
                opened,
                arguments,
                policy,
                label=label or name,
                on_event=on_event,
                on_run=on_run,
            )
            _show(opened, found, as_json=as_json)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.failure is not None:
        fail(found.failure, EXIT_FAILED)


def _show(store: Store, found: Repetition, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    columns = ("", "mean>", "interval>", "+/- %>", "median>", "CoV %>", "drift %>")
    rows = []
    for name, one in found.metrics.items():
        unit, words = (_NANOS_PER_MILLI, " ms") if name in ("mean", "p99") else (1, "")
        low, high = one.estimate.low / unit, one.estimate.high / unit
        rows.append(
            [
                f"{name}{words}",
                f"{one.estimate.mean / unit:,.3f}",
                f"{low:,.3f} to {high:,.3f}",
                f"{100 * one.estimate.relative_half_width:.2f}",
                f"{one.median / unit:,.3f}",
                f"{100 * one.coefficient_of_variation:.2f}",
                f"{100 * one.drift.share:+.1f}" if one.drift and one.drift.is_drifting else "none",
            ]
        )
    console().print(text_table(f"{len(found.run_ids)} runs", columns, rows))
    for sentence in _sentences(found):
        typer.echo(sentence)
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")


def _sentences(found: Repetition) -> list[str]:
    sentences = []
    for name, one in found.metrics.items():
        for outlier in one.outliers:
            run_id = found.run_ids[outlier.index]
            sentences.append(
                f"Run {run_id} is an outlier of {name}: {abs(outlier.deviations):.1f} deviations "
                f"{'above' if outlier.deviations > 0 else 'below'} the others."
            )
    if found.steady is not None:
        words = f"reached in run {found.steady.rounds}" if found.steady.is_steady else "not reached"
        sentences.append(f"Steady state by the SNIA rules, a run being a round: {words}.")
    if not found.is_precise and found.failure is None:
        sentences.append("The interval is wider than asked for: allow more runs (--most).")
    return sentences
