"""An experiment in words and tables: what was planned, and what it found.

Verbs own their plans and outcomes, so this shows whatever they hold: the sentences first, then what
is single as names and values, and what comes in rows as tables.
"""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING

from fathom.cli.views.runs import console, plain_text, text_table
from fathom.units import ms_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fathom.cli.views.whole_table import WholeTable

__all__ = ["show_outcome", "show_plan"]

# The units at the end of names, as a head has them.
_UNITS = {"s": "s", "ns": "ms", "bytes": "bytes", "percent": "%", "ms": "ms"}
# What stands in other words already, or is for programs alone.
_NOT_SHOWN = frozenset({"checks", "claims", "learnt", "runner_process"})
_FIRST_COLUMNS = 4
_MANY = 40


def show_plan(plan: Mapping[str, object]) -> None:
    """Print what was to be done."""
    _show("Plan", plan)


def show_outcome(outcome: Mapping[str, object]) -> None:
    """Print what was found: in sentences, then in figures."""
    terminal = console()
    # The headline may be the first of the other claims.
    for words in dict.fromkeys(_sentences(outcome)):
        terminal.print(plain_text(words), soft_wrap=True)
    if outcome.get("claims"):
        # These sentences stand among the claims.
        outcome = {name: one for name, one in outcome.items() if name != "reasons"}
    _show("Outcome", outcome)


def _sentences(outcome: Mapping[str, object]) -> Iterator[str]:
    claims = outcome.get("claims")
    for one in claims if isinstance(claims, list) else ():
        if isinstance(one, dict) and one.get("text"):
            yield str(one["text"])


def _show(title: str, data: Mapping[str, object]) -> None:
    terminal = console()
    facts = list(_facts(data))
    if facts:
        terminal.print(text_table(title, ("", "~"), facts))
    for name, rows in _row_sets(data):
        terminal.print(_table(f"{title}: {name}", rows))


def _words(name: str) -> str:
    """Return a name as a head has it, with the unit last: ``latency p99 ms``."""
    parts = name.split("_")
    if len(parts) > 1 and parts[-1] in _UNITS:
        parts[-1] = _UNITS[parts[-1]]
    return " ".join(parts)


def _facts(data: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in data.items():
        if name in _NOT_SHOWN or value in (None, "", [], {}):
            continue
        words = f"{before} {_words(name)}".strip()
        if isinstance(value, dict):
            yield from _facts(value, words)
        elif not isinstance(value, list):
            yield words, _text(name, value)
        elif not any(isinstance(one, dict | list) for one in value):
            yield words, _joined(name, value)


def _joined(name: str, values: Sequence[object]) -> str:
    """Return a list in one cell: a command line, sentences in lines of their own, or values."""
    texts = [_text(name, one) for one in values]
    if name == "arguments":
        return shlex.join(texts)
    return ("\n" if any(" " in one for one in texts) else ", ").join(texts)


def _row_sets(
    data: Mapping[str, object], before: str = ""
) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Return the lists of rows that the data hold, however deep, with their names."""
    for name, value in data.items():
        if name in _NOT_SHOWN:
            continue
        words = f"{before} {_words(name)}".strip()
        if isinstance(value, dict):
            yield from _row_sets(value, words)
        elif isinstance(value, list):
            rows = [_flat(one) for one in value if isinstance(one, dict)]
            if rows:
                yield words, rows
            for number, one in enumerate(value, start=1):
                if isinstance(one, dict):
                    yield from _row_sets(one, f"{words} {number}")


def _flat(row: Mapping[str, object], before: str = "") -> dict[str, object]:
    """Return what of a row is single, with parts of parts under their joined names."""
    found: dict[str, object] = {}
    for name, value in row.items():
        key = f"{before}_{name}".strip("_")
        if isinstance(value, dict):
            found |= _flat(value, key)
        elif not isinstance(value, list):
            found[key] = value
        elif not any(isinstance(one, dict | list) for one in value) and len(value) < _MANY:
            found[key] = _joined(name, value)
    return found


def _table(title: str, rows: Sequence[Mapping[str, object]]) -> WholeTable:
    names = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if any(row.get(name) not in (None, "") for row in rows)
    ]
    short = [name.removeprefix("figures_") for name in names]
    # What a cell tells itself goes before what its run told.
    titles = [
        _words(one if short.count(one) == 1 else name)
        for name, one in zip(names, short, strict=True)
    ]
    marked = [
        f"{title}{'>' if all(_is_number(row.get(name)) for row in rows) else '~'}"
        for name, title in zip(names, titles, strict=True)
    ]
    cells = [[_text(name, row.get(name)) for name in names] for row in rows]
    return text_table(title, marked, cells, spare=list(reversed(titles[_FIRST_COLUMNS:])))


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(name: str, value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and name.rpartition("_")[2] == "ns":
        return ms_words(value)
    return _digits(value) if isinstance(value, float) else str(value)


def _digits(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) >= 1 else f"{value:.4g}"
