"""Gates as Markdown, such as for a comment on a pull request."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from fathom._digits import change_figures, change_interval, change_words
from fathom._text import one_line
from fathom.gates.judged import worst
from fathom.limits import parse_limit
from fathom.metrics import unit_of
from fathom.units import rate_words, time_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.gates.judged import Check, JudgedGate

__all__ = ["change_cells", "gates_markdown", "measured_cell"]

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~@])")
_WORDS = {"kept": "passed", "broken": "**failed**", "cannot tell": "cannot tell"}
_MARKS = {"kept": "✅", "broken": "❌", "cannot tell": "❔"}


def gates_markdown(gates: Sequence[JudgedGate]) -> str:
    """Return a heading, a table for each gate, and what else is to be known."""
    decision = worst(one.decision for one in gates)
    parts = [f"### {_MARKS[decision]} fathom gate: {_WORDS[decision].strip('*')}"]
    for gate in gates:
        parts += _one(gate)
    return "\n\n".join(parts) + "\n"


def _one(gate: JudgedGate) -> list[str]:
    runs = ", ".join(map(str, gate.runs))
    against = f" against {_escaped(gate.baseline)}" if gate.baseline else ""
    lines = ["| limit | | measured | change | outcome |", "|---|---|---:|---:|---|"]
    for check in gate.checks:
        shown = f"{_MARKS[check.decision]} {_WORDS[check.decision]}"
        cells = (
            _escaped(check.limit),
            shown,
            measured_cell(check),
            _change_cell(check),
            check.outcome or "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    said = [check.words for check in gate.checks if check.decision != "kept"]
    notes = "\n".join(f"- {_escaped(one)}" for one in (*said, *gate.notes))
    head = f"**{_escaped(gate.name)}**: run{'s' * (len(gate.runs) > 1)} {runs}{against}"
    return [head, "\n".join(lines), *([notes] if notes else [])]


def measured_cell(check: Check) -> str:
    """Return the figure with its unit, on its side of the limit, and which mean it is."""
    if check.measured is None:
        return ""
    of = f" ({check.mean})" if check.mean else ""
    return f"{_measured_words(check, check.measured)}{of}"


def _measured_words(check: Check, measured: float) -> str:
    if check.change is None:
        return parse_limit(check.limit).words(measured)
    unit = unit_of(check.metric)
    return time_words(measured) if unit == "ns" else f"{rate_words(measured)} {unit}"


def change_cells(check: Check) -> tuple[str, str] | None:
    """Return the change and its interval in percent; None of a limit on the figure itself."""
    found = _percents(check)
    return None if found is None else (change_figures(*found)[0], change_interval(*found))


def _percents(check: Check) -> tuple[float, float, float] | None:
    if check.change is None or check.change_low is None or check.change_high is None:
        return None
    return 100 * check.change, 100 * check.change_low, 100 * check.change_high


def _change_cell(check: Check) -> str:
    found = _percents(check)
    return "" if found is None else change_words(*found)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is, in which nothing names a person or a heading."""
    return _SPECIAL.sub(r"\\\1", html.escape(one_line(text), quote=False))
