"""A report in the terminal: its words, small charts, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from fathom.cli._shown import console, facts_table, text_table

if TYPE_CHECKING:
    from rich.console import Console

    from fathom.report import Figure, Material
    from fathom.report._material import Side

__all__ = ["show_report"]

_BAR = 40
_BLOCKS = " ▏▎▍▌▋▊▉█"
_MOST_ROWS = 40
# The figures whose numbers help without a picture, and the column that is drawn as bars.
_CHARTS = {
    "load-curve": "IOPS",
    "heat-map": "IOPS",
    "cache-step": "IOPS",
    "mixes": "IOPS",
    "cpu-per-io": "I/Os per CPU second",
    "box-plots": "IOPS",
    "steady-state": "IOPS",
    "workloads": "IOPS",
    "changes": None,
    "side-by-side": None,
    "latency-distribution": None,
}


def show_report(material: Material) -> None:
    """Print a report; bars are drawn in a terminal only: other programs get plain tables."""
    from fathom.report import figures_of  # noqa: PLC0415 - Slow to import.

    terminal = console()
    for side in material.sides:
        _side(terminal, side)
    figures, left_out = figures_of(material)
    for figure in figures:
        if figure.name in _CHARTS:
            _figure(terminal, figure)
    for one in left_out:
        terminal.print(Text(f"{one.title}: {one.why}"), soft_wrap=True)


def _side(terminal: Console, side: Side) -> None:
    terminal.print(Text(side.name, style="bold"), soft_wrap=True)
    if side.verdict:
        terminal.print(Text(side.verdict.headline), soft_wrap=True)
    terminal.print(facts_table("", {one.label: one.text for one in side.numbers}))
    for one in side.advice:
        terminal.print(Text(f"- {one.title} ({one.confidence}). {one.evidence}"), soft_wrap=True)
        terminal.print(Text(f"  What to do: {one.remedy}"), soft_wrap=True)
    terminal.print(facts_table("What was measured", dict(side.device)))


def _figure(terminal: Console, figure: Figure) -> None:
    table = figure.table
    titles = [f"{one.title}>" if one.is_number else one.title for one in table.columns]
    texts = table.texts()[:_MOST_ROWS]
    bars = _bars(figure) if terminal.is_terminal else None
    if bars is not None:
        titles.append(f"{_CHARTS[figure.name]}")
        texts = [[*row, bar] for row, bar in zip(texts, bars, strict=False)]
    terminal.print(text_table(figure.title, titles, texts))
    left = len(table.rows) - len(texts)
    if left > 0:
        terminal.print(Text(f"{left} more rows: fathom report --json"))


def _bars(figure: Figure) -> list[str] | None:
    """Return a bar for each row, by the greatest value; None if the figure is not drawn so."""
    name = _CHARTS[figure.name]
    names = [column.name for column in figure.table.columns]
    if name is None or name not in names:
        return None
    values = [row[names.index(name)] for row in figure.table.rows]
    numbers = [float(one) if isinstance(one, int | float) else 0.0 for one in values]
    greatest = max(numbers, default=0.0)
    return [_bar(one / greatest if greatest else 0.0) for one in numbers]


def _bar(share: float) -> str:
    """Return a bar of eighths of characters."""
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()
