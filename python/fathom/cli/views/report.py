"""A report in the terminal: its words, small charts, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom import report as reports
from fathom.cli.views.runs import console, facts_table, plain_text, text_table

if TYPE_CHECKING:
    from rich.console import Console

    from fathom.report import Column, Figure, Material
    from fathom.report.material import Side

__all__ = ["show_report"]

_BAR = 16
_BAR_TITLE = "bar"
_BLOCKS = " ▏▎▍▌▋▊▉█"
_MOST_ROWS = 40
_RARE = tuple(f"99.{'9' * digits} %" for digits in range(2, 8))
# The figures whose numbers help without a picture, the column that is drawn as bars, and the
# columns for which a narrow terminal has no room.
_CHARTS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "side-by-side": (None, ()),
    "changes": (None, ("From", "To")),
    "same-loads": (None, ("From", "To", "In times", "Source")),
    "holds": ("Share", ()),
    "writing": ("MiB/s", ("Of",)),
    "load-curve": ("IOPS", ("Threads", "MiB/s", "p50", "p95", "p99.9", "CPU")),
    "heat-map": ("IOPS", ("p50", "p95", "p99.9", "CPU", "Run")),
    "latency-distribution": (None, ("Count", "min", "90 %", "95 %", *_RARE)),
    "cpu-per-io": ("I/Os per CPU second", ("In the kernel", "In the tool", "IOPS", "CPU")),
    "steady-state": ("IOPS", ()),
    "cache-step": ("IOPS", ()),
    "box-plots": ("IOPS", ("p5", "p25", "p75")),
    "mixes": ("IOPS", ("MiB/s", "p50", "p95", "p99.9")),
    "workloads": ("IOPS", ("Part", "Threads", "Depth", "p50", "p95", "p99.9", "CPU")),
}


def show_report(material: Material) -> None:
    """Print a report; bars are drawn in a terminal only: other programs get plain tables."""
    terminal = console()
    _compared(terminal, material)
    for side in material.sides:
        _side(terminal, side)
    figures, left_out = reports.figures_of(material)
    for figure in figures:
        if figure.name in _CHARTS:
            _figure(terminal, figure)
    for one in left_out:
        terminal.print(plain_text(f"{one.title}: {one.why}"), soft_wrap=True)


def _compared(terminal: Console, material: Material) -> None:
    """Print the targets of one assessment side by side."""
    for at, sentence in enumerate(material.told):
        style = "bold" if at == 0 else ""
        terminal.print(plain_text(f"{'- ' if at else ''}{sentence}", style=style), soft_wrap=True)
    found = material.compared
    if found is None:
        return
    terminal.print(plain_text(found.headline, style="bold"), soft_wrap=True)
    columns = ["", *(f"{name}>" for name in found.names)]
    caption = f"*: {found.legend}" if found.legend else ""
    terminal.print(text_table("", columns, found.marked(), caption=caption))
    for sentence in (*found.sentences, *found.notes):
        terminal.print(plain_text(f"- {sentence}"), soft_wrap=True)


def _side(terminal: Console, side: Side) -> None:
    terminal.print(plain_text(side.name, style="bold"), soft_wrap=True)
    if side.verdict:
        terminal.print(plain_text(side.verdict.headline), soft_wrap=True)
    for note in side.notes:
        terminal.print(plain_text(note), soft_wrap=True)
    terminal.print(facts_table("", {one.title: one.text for one in side.numbers}))
    for sentence in side.verdict.sentences if side.verdict else ():
        terminal.print(plain_text(f"- {sentence}"), soft_wrap=True)
    for line in _finding_lines(side):
        terminal.print(plain_text(line), soft_wrap=True)
    terminal.print(facts_table("What was measured", dict(side.device)))


def _finding_lines(side: Side) -> list[str]:
    """Return the findings, or that there are none, and what failed."""
    lines = ["Findings" if side.advice else f"Findings: {side.without_advice}"]
    for one in side.advice:
        where = f" {one.where}" if one.where else ""
        lines.append(f"- {one.title} ({one.confidence}). {one.evidence}{where}")
        lines.append(f"  What to do: {one.remedy}")
    if side.failed:
        lines.append("Failed measurements")
    return [*lines, *(f"- {name}: {why}" for name, why in side.failed)]


def _figure(terminal: Console, figure: Figure) -> None:
    bar, needless = _CHARTS[figure.name]
    table = figure.table
    # What no row knows, such as percentiles beyond the number of I/Os, takes no room.
    kept = [
        at for at in range(len(table.columns)) if any(row[at] is not None for row in table.rows)
    ]
    titles = [f"{table.columns[at].title}{_number(table.columns[at])}" for at in kept]
    texts = [[row[at] for at in kept] for row in table.texts()[:_MOST_ROWS]]
    bars = _bars(figure, bar) if bar and terminal.is_terminal else []
    if bars:
        titles.append(f"{_BAR_TITLE}>")
        texts = [[*row, one.ljust(_BAR)] for row, one in zip(texts, bars, strict=False)]
    spare = [one.title for one in table.columns if one.name in needless]
    terminal.print(text_table(figure.title, titles, texts, spare=[_BAR_TITLE, *spare]))
    left = len(table.rows) - len(texts)
    if left > 0:
        terminal.print(plain_text(f"{left} more rows: fathom report --json"))


def _number(column: Column) -> str:
    """Return the mark by which a column of numbers is known."""
    return ">" if column.is_number else ""


def _bars(figure: Figure, name: str) -> list[str]:
    """Return a bar for each row, by the greatest value."""
    at = [column.name for column in figure.table.columns].index(name)
    values = [row[at] for row in figure.table.rows]
    numbers = [float(one) if isinstance(one, int | float) else 0.0 for one in values]
    greatest = max(numbers, default=0.0)
    return [_bar(one / greatest if greatest else 0.0) for one in numbers]


def _bar(share: float) -> str:
    """Return a bar of eighths of characters."""
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()
