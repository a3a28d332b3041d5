"""An assessment for the reader: the verdict, what was measured, the findings, within 80 columns."""

from __future__ import annotations

import sys
import textwrap
import time
from typing import TYPE_CHECKING

import typer

from fathom import _packages
from fathom._claims import BEST_WORDS
from fathom._finite import json_words
from fathom.cli.views.claims import legend_of, row_mark
from fathom.cli.views.plain import unguarded
from fathom.cli.views.runs import console, local_time, plain_text
from fathom.cli.views.table_format import write_table
from fathom.cli.views.whole_table import WholeColumn, WholeTable, folded
from fathom.experiments import assess as assessing
from fathom.experiments.session import one_reason
from fathom.units import clock_words, size_words, time_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.assess import (
        AssessedCell,
        Assessment,
        Foreseen,
        SideBySide,
        TargetAssessment,
        TargetCells,
    )

__all__ = ["failure_words", "show_assessment", "show_foreseen"]

_COLUMNS = 80
# What the numbers of a table leave for the label.
_LABEL_COLUMNS = 38
_SHOWN = ("done", "failed")
_GLOSSARY = (
    "depth, outstanding: how many are requested at once; the knee: the least depth that gives "
    "nearly the greatest rate; 99 %: so many take at most this long; run: fathom show RUN has all "
    "of it; IOPS: reads and writes a second."
)


def show_assessment(found: Assessment) -> None:
    """Print the comparison, then each target: verdict, table, findings.

    Of what was ended early, nothing is shown that was not measured, and nothing said of it.
    """
    measured = [one for one in found.targets if one.plan.done()]
    if found.comparison is not None and len(measured) > 1:
        _show_comparison(found.comparison)
    for one in found.targets:
        _show_verdict(one)
    for one in found.targets:
        if any(cell.state in _SHOWN for cell in one.plan.cells):
            _show_cells(one)
    if measured:
        _write(_GLOSSARY, "")
        _show_findings(found)


def show_foreseen(found: Foreseen, *, as_json: bool) -> None:
    """Say what an assessment would measure, and how long it would take."""
    if as_json:
        typer.echo(json_words(_foreseen_as_dict(found)))
        return
    count = sum(cell.state != "left_out" for one in found.plans for cell in one.cells)
    seconds, least, most = map(clock_words, (found.seconds, found.least_s, found.most_s))
    finish = local_time(time.time() + found.seconds)
    _write(
        f"{count} measurements at most, about {seconds} ({least} to {most}), predicted finish "
        f"{finish}. {_ends_words(found)} What can tell nothing new is skipped.",
        "",
    )
    for one in found.plans:
        _show_foreseen_target(one)


def _ends_words(found: Foreseen) -> str:
    """Say when a run ends, and where it cannot be its mean that ends it."""
    known = f"known to {found.precision_percent} %"
    if found.measured_s <= found.rule_s:
        return (
            f"Each measures for about {found.measured_s} s, which is too short for its mean to be "
            f"{known} (that takes more than {found.rule_s:g} s; --time gives more)."
        )
    return f"Each ends once its mean is {known}, or after about {found.measured_s} s."


def _show_foreseen_target(one: TargetCells) -> None:
    target = one.target
    size = size_words(target.size_bytes)
    if target.is_scratch:
        words = f"a scratch file of {size} is made, filled (on top of the least time) and removed"
    else:
        words = f"{size}, {'written: its data are lost' if target.writes else 'only read'}"
    _title(f"{target.name}: {words}")
    rows = [
        [part, str(len(cells)), str(sum(cell.cell.writes for cell in cells))]
        for part, cells in _by_part(one).items()
    ]
    _print(_table(("", "measurements>", "that write>"), rows))


def _by_part(one: TargetCells) -> dict[str, list[AssessedCell]]:
    parts: dict[str, list[AssessedCell]] = {}
    for cell in one.cells:
        if cell.state != "left_out":
            parts.setdefault(cell.cell.part, []).append(cell)
    return parts


def _foreseen_as_dict(found: Foreseen) -> dict[str, object]:
    targets = [
        {
            "name": one.target.name,
            "kind": one.target.kind,
            "size_bytes": one.target.size_bytes,
            "writes": one.target.writes,
            "cells": [
                {
                    "key": cell.cell.key,
                    "part": cell.cell.part,
                    "label": cell.cell.label,
                    "writes": cell.cell.writes,
                    "arguments": [*cell.cell.arguments],
                }
                for cell in one.cells
                if cell.state != "left_out"
            ],
        }
        for one in found.plans
    ]
    times = {"seconds": found.seconds, "least_s": found.least_s, "most_s": found.most_s}
    ends = {"measured_s": found.measured_s, "precision_percent": found.precision_percent}
    return {**times, **ends, "fill_bytes": found.fill_bytes, "targets": targets}


def failure_words(found: Assessment) -> str:
    """Return why measurements failed, each reason once."""
    reasons: dict[str, list[str]] = {}
    for cell, why in found.failures.items():
        reasons.setdefault(why, []).append(cell)
    return "; ".join(
        f"{cells[0]}{f' and {len(cells) - 1} more' if len(cells) > 1 else ''}: {one_reason(why)}"
        for why, cells in reasons.items()
    )


def _show_verdict(one: TargetAssessment) -> None:
    verdict = one.verdict
    _title(f"Verdict on {verdict.target}")
    if verdict.partial is not None:
        _write(verdict.partial)
    _write(verdict.headline)
    typer.echo()
    if not one.plan.done():
        return
    figures = assessing.key_figures(one.plan)
    if verdict.partial is not None:
        figures = [figure for figure in figures if figure.value is not None]
    rows = [(f"  {one.label}", f" {one.text}", f" {one.conditions}") for one in figures]
    _print(_table(("", "", ""), rows, whole=2))
    typer.echo()
    for sentence in verdict.sentences:
        _write(sentence, "- ")


def _show_comparison(found: SideBySide) -> None:
    _title("Side by side")
    _write(found.headline)
    rows = []
    for figure in found.figures:
        marks = [" *" if at in figure.best else "  " for at in range(len(found.targets))]
        cells = [text + mark for text, mark in zip(figure.texts, marks, strict=True)]
        rows.append([figure.label, *cells])
    _print(_table(["", *(f"{name}>" for name in found.targets)], rows))
    if any(figure.best for figure in found.figures):
        _write(f"*: {BEST_WORDS}.", "")
    for sentence in found.sentences:
        _write(sentence, "- ")
    for note in found.notes:
        _write(f"Note: {note}", "- ")


def _show_cells(one: TargetAssessment) -> None:
    _title(f"Measurements of {one.plan.target.name}")
    rows: list[list[str]] = []
    headings = []
    part = None
    for cell in one.plan.cells:
        if cell.cell.role == "steady_round" or cell.state not in _SHOWN:
            continue
        if cell.cell.part != part:
            part = cell.cell.part
            headings.append(len(rows))
            rows.append([part, "", "", "", "", ""])
        rows.append(_row(cell))
    columns = ("", "IOPS>", "MiB/s>", "mean>", "99 %>", "run>")
    _print(_table(columns, rows, spare=("MiB/s", "mean"), headings=headings))
    _show_legend(one)
    for cell in one.plan.cells:
        if cell.state == "failed":
            _write(f"{cell.cell.label} failed: {one_reason(cell.reason)}", "")
    _show_rounds(one)


def _row(one: AssessedCell) -> list[str]:
    run = "-" if one.run_id is None else str(one.run_id)
    figures = one.figures
    failed = ": failed" if figures is None else _marks(one)
    label = textwrap.fill(
        one.cell.label + failed,
        _LABEL_COLUMNS,
        initial_indent="  ",
        subsequent_indent="    ",
    )
    if figures is None:
        return [label, "", "", "", "", run]
    times = [
        "-" if time_ns is None else time_words(time_ns)
        for time_ns in (figures.latency_mean_ns, figures.latency_p99_ns)
    ]
    return [label, f"{figures.iops:,.0f}", f"{figures.mib_per_s:,.1f}", *times, run]


def _marks(one: AssessedCell) -> str:
    """Return a letter for each finding against its figures that this run has a part in."""
    return row_mark(assessing.marks_of(one))


def _marks_of_all(cells: Sequence[AssessedCell]) -> str:
    """Return the letters of the runs of a round."""
    return row_mark(tuple(rule for one in cells for rule in assessing.marks_of(one)))


def _show_legend(one: TargetAssessment) -> None:
    """Say what the letters of the rows mean: those that stand there, and no others."""
    done = [cell for cell in one.plan.cells if cell.state == "done"]
    names = {finding.rule: finding.title for finding in one.findings}
    words = legend_of((rule for cell in done for rule in assessing.marks_of(cell)), names)
    if words:
        _write(words, "")


def _show_rounds(one: TargetAssessment) -> None:
    """Print the rounds of the steady state, one line each."""
    rounds: dict[str, dict[str, AssessedCell]] = {}
    labels: dict[str, None] = {}
    for cell in one.plan.cells:
        if cell.cell.role == "steady_round":
            name, _, label = cell.cell.label.partition(": ")
            labels[label] = None
            if cell.figures is not None:
                rounds.setdefault(name, {})[label] = cell
    if not rounds:
        return
    rows = [
        [f"  {name}{_marks_of_all([*cells.values()])}", *(_rate(cells.get(at)) for at in labels)]
        for name, cells in rounds.items()
    ]
    _print(_table(["steady state, IOPS", *(f"{label}>" for label in labels)], rows))


def _rate(cell: AssessedCell | None) -> str:
    """Return the rate of a point of a round, if it was measured."""
    return "-" if cell is None or cell.figures is None else f"{cell.figures.iops:,.0f}"


def _show_findings(found: Assessment) -> None:
    # What was ended early may have had more of them.
    none = "Findings in what was measured: none" if found.partial else "Findings: none"
    _title("Findings" if found.findings else none)
    several = len(found.targets) > 1
    for one in found.findings:
        about = f"{one.target}: " if several else ""
        _write(f"{about}{one.title} ({one.confidence})", "- ")
        _write(one.evidence, "    ", "    ")
        if one.where:
            _write(one.where, "    ", "    ")
        _write(f"What to do: {one.remedy}", "    ", "    ")


def _title(words: str) -> None:
    typer.echo(f"\n{words}")
    typer.echo("-" * min(len(words), _columns()))


def _write(words: str, bullet: str = "  ", indent: str | None = None) -> None:
    rest = " " * len(bullet) if indent is None else indent
    typer.echo("\n".join(folded(words, _columns(), bullet, rest)))


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    spare: Sequence[str] = (),
    headings: Sequence[int] = (),
    whole: int = 0,
) -> WholeTable:
    """Return a table; the lines of its first columns, as many as are ``whole``, do not fold."""
    return WholeTable(
        [
            WholeColumn(
                plain_text(one.removesuffix(">")).plain,
                is_number=one.endswith(">"),
                is_name=not one.endswith(">"),
                is_whole=at < whole,
            )
            for at, one in enumerate(columns)
        ],
        [[plain_text(cell).plain for cell in row] for row in rows],
        spare=spare,
        is_boxed=False,
        gap=1,
        headings=frozenset(headings),
    )


def _columns() -> int:
    """Return the width of all lines: that of a page, or what a narrow terminal has."""
    terminal = console()
    return min(terminal.width, _COLUMNS)


def _print(table: WholeTable) -> None:
    # Also where the output goes to a file or another program: it is made for reading.

    if write_table(table):
        return
    # Without colours and bold type, which would be spelt out as what others want of the terminal.
    # Without a height, Rich would take a terminal that moves no cursor to have 80 columns.
    terminal = _packages.Console(
        file=unguarded(sys.stdout), width=_columns(), height=console().height, color_system=None
    )
    with terminal.capture() as captured:
        terminal.print(table, crop=False)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())
