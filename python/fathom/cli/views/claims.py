"""Marks of rows on the terminal, and what they mean."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import typer

from fathom import findings
from fathom._claims import MARKS, mark_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fathom._claims import Doubt

__all__ = ["legend_of", "row_mark", "show_legend"]


def row_mark(rules: Collection[str]) -> str:
    """Return a letter for each finding that speaks against the figures of a row: `` [Ad]``."""
    found = mark_of(rules)
    return f" [{found}]" if found else ""


def legend_of(rules: Iterable[str], names: Mapping[str, str] | None = None) -> str:
    """Return what the letters mean: those of these rules, and no others.

    ``names`` are what findings are called that are shown beside it, where that is not their title.
    """
    shown = {*rules}
    titles = {rule.name: rule.title for rule in findings.RULES} | {**(names or {})}
    parts = [f"[{mark}] {titles[rule]}" for rule, mark in MARKS.items() if rule in shown]
    return f"{'; '.join(parts)}." if parts else ""


def show_legend(rows: Iterable[Iterable[str]], doubts: Sequence[Doubt] = ()) -> None:
    """Print what the letters of a table mean, if there are any.

    Each of ``doubts`` has a line of its own, with its sentence; other letters have their titles.
    """
    shown = {*chain.from_iterable(rows)}
    known = [one for one in doubts if one.rule in shown]
    words = legend_of(shown - {one.rule for one in known})
    for line in (*map(_doubt_line, known), *filter(None, [words])):
        typer.echo(line)


def _doubt_line(one: Doubt) -> str:
    return f"[{MARKS[one.rule]}] {one.title} ({one.confidence}): {one.evidence}"
