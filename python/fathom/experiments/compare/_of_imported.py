"""What differs between sets of runs of which some were imported: much of it may be unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.experiments.compare._words import setting, term
from fathom.metrics import run_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import StoredRun

__all__ = ["imported_differences", "told_figures"]

_LOAD = (
    "block_bytes",
    "thread_count",
    "outstanding_per_thread",
    "write_percent",
    "random_percent",
)
_MACHINE = ("host_name", "cpu_model")


def imported_differences(a: Sequence[StoredRun], b: Sequence[StoredRun]) -> list[str]:
    """Return as sentences what differs, and what nobody knows.

    Loads are compared by the five figures that all tools have; a figure that a source does not
    tell is no difference, but is named.
    """
    sentences = []
    pairs = {name: (_values(a, name), _values(b, name)) for name in _LOAD}
    differ = [
        f"{term(name)} is {_words(name, sides[0])} in A and {_words(name, sides[1])} in B"
        for name, sides in pairs.items()
        if None not in sides[0] | sides[1] and sides[0] != sides[1]
    ]
    if differ:
        sentences.append(f"The load differs: {'; '.join(differ)}.")
    unknown = [name for name, sides in pairs.items() if None in sides[0] | sides[1]]
    if unknown:
        sentences.append(
            f"Whether both sides did the same work is not wholly known: an import does not tell "
            f"{', '.join(map(term, unknown))}."
        )
    if not all(any(run.summary.columns[name] for name in _MACHINE) for run in (*a, *b)):
        sentences.append("The machine of an imported run is unknown.")
    whats = [
        {
            run.imported.total.latency.what
            for run in side
            if run.imported and run.imported.total and run.imported.total.latency
        }
        for side in (a, b)
    ]
    if whats[0] != whats[1]:
        sides = [", ".join(sorted(one)) or "from submission to completion" for one in whats]
        sentences.append(f"Latency is measured {sides[0]} in A and {sides[1]} in B.")
    return sentences


def told_figures(a: Sequence[StoredRun], b: Sequence[StoredRun], metric: str) -> str:
    """Return the plain change of a figure whose spread an imported run does not tell, if known."""
    if all(run.imported is None for run in (*a, *b)):
        return ""
    means = []
    for side in (a, b):
        known = [value for run in side if (value := run_value(run.summary, metric)) is not None]
        if len(known) < len(side):
            return ""
        means.append(sum(known) / len(known))
    # Nothing is no number of percent away from 0.
    change = f" ({100 * (means[1] / means[0] - 1):+.2f} %)" if means[0] else ""
    return f"it is {means[0]:,.2f} in A and {means[1]:,.2f} in B{change}, but "


def _values(runs: Sequence[StoredRun], name: str) -> frozenset[float | None]:
    return frozenset(run.summary.columns[name] for run in runs)


def _words(name: str, values: frozenset[float | None]) -> str:
    known = sorted(value for value in values if value is not None)
    return ", ".join(setting(name, int(value) if value == int(value) else value) for value in known)
