"""Rows of tables with letters for the findings that touch them, and what the letters mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom._claims import MARKS, mark_of
from fathom.findings import RULES
from fathom.report.figure import Column, Table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fathom.report.figure import Figure

__all__ = ["marked"]


def marked(
    figure: Figure, rows: Sequence[Collection[str]], names: Mapping[str, str] | None = None
) -> Figure:
    """Return a figure with a column of letters behind the first one, and their legend.

    ``rows`` are the rules of each row of its table; without any, the figure stays as it is.
    ``names`` are what the findings of a rule are called in the report; otherwise its title stands.
    """
    told = {rule for rules in rows for rule in rules if rule in MARKS}
    if not told:
        return figure
    titles = {rule.name: rule.title for rule in RULES} | {**(names or {})}
    legend = "; ".join(f"{mark} {titles[rule]}" for rule, mark in MARKS.items() if rule in told)
    pairs = zip(figure.table.rows, rows, strict=True)
    table = Table(
        (*figure.table.columns[:1], Column("Findings"), *figure.table.columns[1:]),
        tuple((*row[:1], mark_of(rules), *row[1:]) for row, rules in pairs),
    )
    return replace(figure, caption=f"{figure.caption} Findings: {legend}.", table=table)
