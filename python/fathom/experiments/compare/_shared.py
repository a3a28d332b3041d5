"""Runs that stand on both sides of a comparison, by their numbers or as copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.compare.gate import NAME_APART
from fathom.findings.finding import numbers_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import StoredRun

__all__ = ["refuse_same", "shared_doubts"]


def refuse_same(
    a: Sequence[StoredRun], b: Sequence[StoredRun], references: tuple[str, str]
) -> None:
    """Refuse runs as both sides: that is a slip, and they would be equal with certainty.

    ``references`` are what A and B were called.

    Raises
    ------
    InvalidRequestError
        If both sides are the same runs.

    """
    if {run.summary.id for run in a} == {run.summary.id for run in b}:
        raise InvalidRequestError(
            f"A ({references[0]}) and B ({references[1]}) are the same runs, so that nothing can "
            "differ: name other runs, another experiment or a baseline for one of them"
        )


def shared_doubts(a: Sequence[StoredRun], b: Sequence[StoredRun]) -> tuple[str, ...]:
    """Return in words what both sides have in common, which keeps them from being two samples.

    That is a run that is on both, and a run of the one that is a copy of one of the other.
    """
    found = []
    both = sorted({run.summary.id for run in a} & {run.summary.id for run in b})
    if both:
        found.append(f"A and B share {numbers_words(both)} ({NAME_APART})")
    copies = [
        (one.summary.id, other.summary.id) for one in a for other in b if _is_copy(one, other)
    ]
    if copies:
        (one_id, other_id), more = copies[0], len(copies) - 1
        rest = f", as {'is' if more == 1 else 'are'} {more} more" if more else ""
        found.append(
            f"run {one_id} of A and run {other_id} of B are the same measurement, which was "
            f"imported{rest} ({NAME_APART})"
        )
    return tuple(found)


def _is_copy(one: StoredRun, other: StoredRun) -> bool:
    """Whether both are of one measurement; only an import makes a second run of it."""
    if one.summary.id == other.summary.id:
        return False
    places = [
        (run.summary.columns.get("source_sha256"), run.summary.columns.get("source_position"))
        for run in (one, other)
    ]
    if places == [(None, None), (None, None)]:
        return False
    if places[0] == places[1]:
        return True
    starts = [run.summary.started_at_unix_s for run in (one, other)]
    # Without a time, figures may be alike by chance.
    if starts[0] is None or starts[0] != starts[1]:
        return False
    if one.imported is not None or other.imported is not None:
        return one.imported == other.imported
    return one.result.raw == other.result.raw
