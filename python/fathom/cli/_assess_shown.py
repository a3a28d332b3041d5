"""An assessment for the reader: the verdict, what was measured, the findings, within 80 columns."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from fathom.cli._plain import unguarded
from fathom.cli._shown import plain_text

if TYPE_CHECKING:
    from fathom.assess import AssessedCell, Assessment, SideBySide, TargetAssessment

__all__ = ["failure_words", "show_assessment"]

_COLUMNS = 80
# What the numbers of a table leave for the label.
_LABEL_COLUMNS = 38
_GLOSSARY = (
    "depth, outstanding: how many are asked for at once; the knee: the least depth that gives "
    "nearly the greatest rate; 99 %: so many take at most this long; run: fathom show RUN has all "
    "of it; IOPS: reads and writes a second."
)


def show_assessment(found: Assessment) -> None:
    """Print the comparison, then each target: verdict, table, findings."""
    if found.comparison is not None:
        _show_comparison(found.comparison)
    for one in found.targets:
        _show_verdict(one)
    for one in found.targets:
        _show_cells(one)
    _write(_GLOSSARY, "")
    _show_findings(found)


def failure_words(found: Assessment) -> str:
    """Return why measurements failed, each reason once."""
    reasons: dict[str, list[str]] = {}
    for cell, why in found.failures.items():
        reasons.setdefault(why, []).append(cell)
    return "; ".join(
        f"{cells[0]}{f' and {len(cells) - 1} more' if len(cells) > 1 else ''}: {why}"
        for why, cells in reasons.items()
    )


def _show_verdict(one: TargetAssessment) -> None:
    from fathom.assess import key_figures  # noqa: PLC0415 - Loads NumPy.

    verdict = one.verdict
    _title(f"Verdict on {verdict.target}")
    if verdict.partial is not None:
        _write(verdict.partial)
    _write(verdict.headline)
    typer.echo()
    figures = key_figures(one.plan)
    width = max(len(figure.label) for figure in figures)
    for figure in figures:
        typer.echo(f"  {figure.label:<{width}}  {figure.text}")
    typer.echo()
    for sentence in verdict.sentences:
        _write(sentence, "- ")


def _show_comparison(found: SideBySide) -> None:
    _title("Side by side")
    _write(found.headline)
    table = _table("", *(f"{name}>" for name in found.targets))
    for figure in found.figures:
        marks = [" *" if at in figure.best else "  " for at in range(len(found.targets))]
        cells = [text + mark for text, mark in zip(figure.texts, marks, strict=True)]
        table.add_row(plain_text(figure.label), *(plain_text(cell) for cell in cells))
    _print(table)
    _write("*: the best, or within 5 % of it.", "")
    for sentence in found.sentences:
        _write(sentence, "- ")
    for note in found.notes:
        _write(f"Note: {note}", "- ")


def _show_cells(one: TargetAssessment) -> None:
    _title(f"Measurements of {one.plan.target.name}")
    table = _table("", "a second>", "MiB/s>", "mean>", "99 %>", "run>")
    part = None
    for cell in one.plan.cells:
        if cell.cell.role == "steady_round" or cell.state not in ("done", "failed"):
            continue
        if cell.cell.part != part:
            part = cell.cell.part
            table.add_row(plain_text(part, style="bold"))
        table.add_row(*(plain_text(text) for text in _row(cell)))
    _print(table)
    _show_rounds(one)


def _row(one: AssessedCell) -> list[str]:
    from fathom.findings import time_words  # noqa: PLC0415 - Loads NumPy.

    run = "-" if one.run_id is None else str(one.run_id)
    figures = one.figures
    failed = ": failed" if figures is None else ""
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


def _show_rounds(one: TargetAssessment) -> None:
    """Print the rounds of the steady state, one line each."""
    rounds: dict[str, list[AssessedCell]] = {}
    for cell in one.plan.cells:
        if cell.cell.role == "steady_round" and cell.figures is not None:
            rounds.setdefault(cell.cell.label.partition(": ")[0], []).append(cell)
    if not rounds:
        return
    labels = [cell.cell.label.partition(": ")[2] for cell in next(iter(rounds.values()))]
    table = _table("steady state, a second", *(f"{label}>" for label in labels))
    for name, cells in rounds.items():
        rates = [f"{cell.figures.iops:,.0f}" for cell in cells if cell.figures is not None]
        table.add_row(plain_text(f"  {name}"), *(plain_text(rate) for rate in rates))
    _print(table)


def _show_findings(found: Assessment) -> None:
    _title("Findings" if found.findings else "Findings: none")
    several = len(found.targets) > 1
    for one in found.findings:
        about = f"{one.target}: " if several else ""
        _write(f"{about}{one.title} ({one.confidence})", "- ")
        _write(one.evidence, "    ", "    ")
        _write(f"What to do: {one.remedy}", "    ", "    ")


def _title(words: str) -> None:
    typer.echo(f"\n{words}")
    typer.echo("-" * min(len(words), _COLUMNS))


def _write(words: str, bullet: str = "  ", indent: str | None = None) -> None:
    rest = " " * len(bullet) if indent is None else indent
    typer.echo(
        textwrap.fill(
            words,
            _COLUMNS,
            initial_indent=bullet,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    for column in columns:
        is_number = column.endswith(">")
        table.add_column(
            plain_text(column.removesuffix(">")),
            justify="right" if is_number else "left",
            overflow="fold",
        )
    return table


def _print(table: Table) -> None:
    # Also where the output goes to a file or another program: it is made for reading.
    terminal = Console(file=unguarded(sys.stdout), width=_COLUMNS)
    with terminal.capture() as captured:
        terminal.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())
