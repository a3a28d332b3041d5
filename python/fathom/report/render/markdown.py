"""The report as Markdown: words and tables, for issues and wikis."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom._text import plain
from fathom.report.figures import figures_of
from fathom.report.render.write import MADE_BY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fathom.report.figure import Table
    from fathom.report.material import Material, Side, TargetsCompared

__all__ = ["markdown"]

# Longer tables help nobody in a text.
_MOST_ROWS = 60
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~])")


def markdown(material: Material) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    figures, left_out = figures_of(material)
    parts = [f"# {_escaped(material.title)}", material.happened]
    parts += _compared(material.compared)
    if material.told:
        parts += ["## Comparison", f"**{_escaped(material.told[0])}**"]
        parts.append(_list(_escaped(one) for one in material.told[1:]))
    for side in material.sides:
        parts += _side(side, several=len(material.sides) > 1)
    for figure in figures:
        parts += [f"## {_escaped(figure.title)}", _escaped(figure.caption)]
        parts.append(_table(figure.table))
    if left_out:
        parts.append("## Figures without numbers")
        parts.append(_list(f"**{_escaped(one.title)}:** {_escaped(one.why)}" for one in left_out))
    parts += _again(material)
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    shown = html.escape(plain(" ".join(text.split())), quote=False)
    return _SPECIAL.sub(r"\\\1", shown)


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {one}" for one in sentences)


def _compared(found: TargetsCompared | None) -> list[str]:
    """Return the targets side by side, which stand before each of them."""
    if found is None:
        return []
    return [
        "## Comparison",
        f"**{_escaped(found.headline)}**",
        _rows(("Number", *found.names), found.marked()),
        f"\\*: {found.legend}" if found.legend else "",
        _list(_escaped(one) for one in (*found.sentences, *found.notes)),
    ]


def _side(side: Side, *, several: bool) -> list[str]:
    parts = [f"## {_escaped(side.name)}"] if several else []
    if side.verdict:
        parts.append(f"**{_escaped(side.verdict.headline)}**")
    parts += [_escaped(note) for note in side.notes]
    parts.append(_rows(("Number", "Value"), [(one.title, one.text) for one in side.numbers]))
    if side.verdict:
        parts.append(_list(_escaped(one) for one in side.verdict.sentences))
    parts += ["### Findings", _findings(side)]
    if side.failed:
        parts.append("### Failed measurements")
        parts.append(_list(f"**{_escaped(name)}:** {_escaped(why)}" for name, why in side.failed))
    if side.device:
        parts.append("### What was measured")
        parts.append(_rows(("", ""), side.device))
    return parts


def _findings(side: Side) -> str:
    if not side.advice:
        return _escaped(side.without_advice)
    return _list(
        f"**{_escaped(one.title)}** ({one.confidence}). {_escaped(one.evidence)} "
        f"{one.where + ' ' if one.where else ''}"
        f"*What to do:* {_escaped(one.remedy)}"
        for one in side.advice
    )


def _table(table: Table) -> str:
    texts = table.texts()
    shown = _rows([column.title for column in table.columns], texts[:_MOST_ROWS])
    left = len(texts) - _MOST_ROWS
    more = "1 more row is" if left == 1 else f"{left} more rows are"
    return shown if left <= 0 else f"{shown}\n\n{more} in the HTML report."


def _rows(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_line(row) for row in rows]
    return "\n".join([_line(titles), "|" + " --- |" * len(titles), *lines]) if lines else ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _again(material: Material) -> list[str]:
    commands = [command for side in material.sides for command in side.commands]
    # A fence longer than any within.
    longest = max((len(one) for one in re.findall(r"`+", "\n".join(commands))), default=0)
    fence = "`" * max(longest + 1, 3)
    block = "\n".join([fence, *commands, fence]) if commands else ""
    made = f"{MADE_BY} {_fathom.version()} with {_escaped(material.command)}"
    return ["## To repeat it", block, made]
