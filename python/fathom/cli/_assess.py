"""``fathom assess``: what storage is good for."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli._exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli._progress import live_progress
from fathom.cli._shown import console, text_table

if TYPE_CHECKING:
    from fathom.assess import Assessment, CellDone, Effort
    from fathom.store import Store

__all__ = ["assess"]

_NANOS_PER_MILLI = 1_000_000
_MINUTE_S = 60


def assess(  # noqa: PLR0913 - Each is an option of the command.
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Files, folders or devices.")
    ],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="About 30 s.")] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="Up to hours.")] = False,
    seconds: Annotated[
        float | None, typer.Option(help="For each target, instead of 120 s; 10 at least.")
    ] = None,
    size_mib: Annotated[int | None, typer.Option(help="Of a scratch file, in MiB.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Also write to what exists: its data are lost.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --write, also recognisable data.")
    ] = False,
    steady: Annotated[
        int, typer.Option(metavar="SECONDS", help="Also go on until steady, at most so long.")
    ] = 0,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure what storage can do, and say what it is good for.

    In a folder, and where nothing has the name yet, a scratch file is made and removed again. What
    exists is only read, unless --write says otherwise.
    """
    effort = _effort(quick=quick, thorough=thorough, seconds=seconds, size_mib=size_mib)
    if overwrite and not write:
        fail("--overwrite needs --write", EXIT_INVALID)
    from fathom.assess import assess as assess_targets  # noqa: PLC0415 - Loads NumPy.

    def tell(words: str, number: int, count: int, left_s: float) -> None:
        minutes, rest = divmod(round(max(left_s, 0)), _MINUTE_S)
        typer.echo(f"[{number}/{count}] about {minutes}:{rest:02} left: {words}", err=True)

    try:
        with opened_store(store) as opened, live_progress(quiet=as_json) as on_event:
            found = assess_targets(
                opened,
                targets,
                effort,
                writes=write,
                overwrite=overwrite,
                steady_seconds=steady,
                on_event=on_event,
                on_cell=tell,
            )
            _show(opened, found, as_json=as_json)
    except fathom.RunInterrupted as interruption:
        fail(f"{interruption}; what was done is saved: fathom list", exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.failures:
        fail("; ".join(f"{cell}: {why}" for cell, why in found.failures.items()), EXIT_FAILED)


def _effort(*, quick: bool, thorough: bool, seconds: float | None, size_mib: int | None) -> Effort:
    from fathom.assess import EFFORTS  # noqa: PLC0415 - Loads NumPy.

    if quick and thorough:
        fail("--quick and --thorough exclude each other", EXIT_INVALID)
    if seconds is not None and seconds < 10:  # noqa: PLR2004 - As the help says.
        fail("--seconds are at least 10", EXIT_INVALID)
    effort = EFFORTS["quick" if quick else "thorough" if thorough else "default"]
    if seconds is not None:
        effort = replace(effort, seconds=seconds)
    return replace(effort, size_bytes=size_mib << 20) if size_mib is not None else effort


def _show(store: Store, found: Assessment, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_data(found), indent=2))
        return
    for number, verdict in enumerate(found.verdicts):
        rows = [_row(done) for done in found.cells[number]]
        columns = ("part", "load", "IOPS>", "MiB/s>", "mean ms>", "p99 ms>", "run>")
        console().print(text_table(verdict.target, columns, rows))
    _show_findings(found)
    for verdict in found.verdicts:
        typer.echo(f"\nVerdict on {verdict.target}")
        for sentence in verdict.sentences:
            typer.echo(f"  {sentence}")
    typer.echo(f"\nSaved as experiment e{found.experiment_id} in {store.name}")


def _show_findings(found: Assessment) -> None:
    typer.echo("\nFindings" if found.findings else "\nFindings: none")
    several = len(found.targets) > 1
    for one in found.findings:
        about = f"{one.target}: " if several else ""
        typer.echo(f"- {about}{one.title} ({one.confidence}). {one.evidence}")
        typer.echo(f"  What to do: {one.remedy}")


def _row(done: CellDone) -> list[str]:
    total = done.result.total
    latency = total.latency
    times = ("-", "-")
    if latency is not None:
        both = (latency.mean_ns, latency.quantile_ns(0.99))
        times = (f"{both[0] / _NANOS_PER_MILLI:.3f}", f"{both[1] / _NANOS_PER_MILLI:.3f}")
    rates = (f"{total.iops:,.0f}", f"{total.mib_per_s:,.1f}")
    run = "-" if done.run_id is None else str(done.run_id)
    return [done.cell.part, done.cell.label, *rates, *times, run]


def _data(found: Assessment) -> dict[str, Any]:
    return {
        "experiment_id": found.experiment_id,
        "verdicts": [asdict(one) for one in found.verdicts],
        "findings": [asdict(one) for one in found.findings],
        "failures": found.failures,
        "cells": [
            {
                "target": target.name,
                "key": done.cell.key,
                "part": done.cell.part,
                "label": done.cell.label,
                "run_id": done.run_id,
                "iops": done.result.total.iops,
                "mib_per_s": done.result.total.mib_per_s,
                "failure": done.failure,
            }
            for target, cells in zip(found.targets, found.cells, strict=True)
            for done in cells
        ],
    }
