"""``fathom gate``: whether saved runs keep their limits, for a pipeline."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import fathom
from fathom import gates as gating
from fathom._finite import json_words
from fathom.cli.commands import _places
from fathom.cli.common import JsonOption, StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_CANNOT_TELL, EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.runs import console, text_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.gates import Gate, JudgedGate

__all__ = ["gate"]


DEFAULT_PERCENT = 95.0
_CODES = {"kept": 0, "broken": EXIT_WORSE, "cannot tell": EXIT_CANNOT_TELL}


class Asked(NamedTuple):
    """What gates were requested of the command."""

    limits: Sequence[str]
    baseline: str | None
    file: Path | None
    only: Sequence[str]
    confidence_percent: float
    any_load: bool


class Outputs(NamedTuple):
    """Where else what is found is written."""

    junit: Path | None
    markdown: Path | None
    overwrite: bool
    as_json: bool

    @property
    def to_output(self) -> list[Path]:
        """The files that are the standard output."""
        return [one for one in (self.junit, self.markdown) if one and _places.is_output(one)]

    @property
    def are_one(self) -> bool:
        """Whether the second document would take the place of the first."""
        if self.junit is None or self.markdown is None or _places.is_nowhere(self.junit):
            return False
        return os.path.realpath(self.junit) == os.path.realpath(self.markdown)

    def check(self) -> None:
        """Refuse two documents in one place, and places that nothing can be written to.

        Raises
        ------
        ReportError
            If one is the place of something else.

        """
        if self.to_output and (self.as_json or len(self.to_output) > 1):
            fail("the standard output holds one document: name a file for others", EXIT_INVALID)
        if self.are_one:
            fail(f"{self.junit} holds one document: name another file for the other", EXIT_INVALID)
        for place in filter(None, (self.junit, self.markdown)):
            _places.check(place, is_text=True, force=self.overwrite)


def judge_gates(runs: str | None, asked: Asked, outputs: Outputs, store: str | None) -> None:
    """Judge runs, and end with the exit code of the worst limit."""
    outputs.check()
    try:
        gates = _gates(asked)
    except fathom.FathomError as error:
        fail(error, EXIT_INVALID)
    with opened_store(store, make=False) as opened:
        judged = [
            gating.judge_gate(opened, one, runs or gating.runs_of_gate(opened, one))
            for one in gates
        ]
    decision = gating.worst(one.decision for one in judged)
    try:
        if outputs.as_json:
            told = [{**asdict(one), "decision": one.decision} for one in judged]
            typer.echo(json_words({"decision": decision, "gates": told}))
        elif not outputs.to_output:
            _show(judged)
    finally:
        # What is found is shown before anything is written, which may fail; and it is written
        # where nothing can be shown, as to an output that is closed.
        _write(judged, outputs)
    raise typer.Exit(_CODES[decision])


def _gates(asked: Asked) -> list[Gate]:
    if asked.limits:
        if asked.file is not None or asked.only:
            fail("--require takes the place of the file: leave out --file and --only", EXIT_INVALID)
        gate = gating.gate_of(
            asked.limits,
            baseline=asked.baseline,
            confidence=asked.confidence_percent / 100,
            any_load=asked.any_load,
        )
        return [gate]
    path = asked.file or gating.find_gate_file(Path.cwd())
    if path is None:
        fail("there is no fathom.toml here: add --require 'p99<2ms', or --file", EXIT_INVALID)
    if asked.baseline or asked.any_load or asked.confidence_percent != DEFAULT_PERCENT:
        fail(f"{path} says baseline, confidence and any_load itself: change it there", EXIT_INVALID)
    gates = gating.read_gates(path)
    missing = {*asked.only} - {one.name for one in gates}
    if missing:
        names = ", ".join(one.name for one in gates)
        fail(f"{path} has no gate {min(missing)}; it has {names}", EXIT_INVALID)
    return [one for one in gates if not asked.only or one.name in asked.only]


def _write(judged: Sequence[JudgedGate], outputs: Outputs) -> None:
    if outputs.junit is not None:
        made = gating.junit_xml(judged, at_unix_s=time.time(), host_name=platform.node())
        _put(outputs.junit, made, overwrite=outputs.overwrite)
    if outputs.markdown is not None:
        found = gating.gates_markdown(judged).encode()
        _put(outputs.markdown, found, overwrite=outputs.overwrite)


def _put(place: Path, content: bytes, *, overwrite: bool) -> None:
    _places.put(place, content, force=overwrite)


def _show(judged: Sequence[JudgedGate]) -> None:
    for one in judged:
        title = one.name if one.baseline is None else f"{one.name} against {one.baseline}"
        columns = ("limit", "decision", "measured>", "change %>", "interval %>", "outcome")
        rows = [
            [
                check.limit,
                check.decision,
                gating.measured_cell(check) or "-",
                *(gating.change_cells(check) or ("-", "-")),
                check.outcome or "-",
            ]
            for check in one.checks
        ]
        console().print(text_table(title, columns, rows, spare=("outcome", "interval %")))
        for check in one.checks:
            if check.decision != "kept":
                typer.echo(check.words)
        for note in one.notes:
            typer.echo(note)


def gate(  # noqa: PLR0913 - Each is an option of the command.
    runs: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUNS]",
            help="Runs (12 or 12,14), an experiment (e3) or a baseline; without them the newest "
            "with the label of each gate.",
            show_default=False,
        ),
    ] = None,
    *,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="What has to hold: 'p99<2ms', 'iops>50k'; against the baseline 'iops>-5%', or "
            "'p99' for no worse. May stand several times; the file is then not read."
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="What to compare with: a run, experiment or baseline.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="The file with the gates; otherwise fathom.toml of the repository."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this gate of the file. May stand several times."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals, in percent.")] = 95.0,
    any_load: Annotated[
        bool, typer.Option("--any-load", help="Compare saved runs whose loads differ, too.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write what was found to this file as JUnit XML, too.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Write it to this file as Markdown for a pull request, too."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that Fathom did not make.")
    ] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Judge saved runs by limits, and end with an exit code for a pipeline.

    It ends with 0 if all limits are kept, with 5 if one is broken, and with 7 if of one neither can
    be told. Limits stand in fathom.toml of the repository, or behind --require.
    """
    asked = Asked(require or [], baseline, file, only or [], confidence, any_load)
    judge_gates(runs, asked, Outputs(junit, markdown, overwrite, as_json), store)
