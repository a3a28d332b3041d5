"""Runs that stand on both sides of a comparison, by their numbers or as copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.findings.finding import numbers_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import StoredRun

__all__ = ["refuse_shared"]


def refuse_shared(
    a: Sequence[StoredRun], b: Sequence[StoredRun], references: tuple[str, str]
) -> None:
    """Refuse sides that have a run in common: what is equal because it is one tells nothing.

    ``references`` are what A and B were called.

    Raises
    ------
    InvalidRequestError
        If a run is on both sides, or one side has a copy of a run of the other.

    """
    ids = [{run.summary.id for run in side} for side in (a, b)]
    both = sorted(ids[0] & ids[1])
    if ids[0] == ids[1]:
        raise InvalidRequestError(
            f"A ({references[0]}) and B ({references[1]}) are the same runs, so that nothing can "
            "differ: name other runs, another experiment or a baseline for one of them"
        )
    if both:
        raise InvalidRequestError(
            f"A ({references[0]}) and B ({references[1]}) share {numbers_words(both)}, so that "
            "they are not independent: name each run on one side alone"
        )
    copies = [(one, other) for one in a for other in b if _is_copy(one, other)]
    if copies:
        one, other = copies[0]
        more = f", as are {len(copies) - 1} more" if len(copies) > 1 else ""
        raise InvalidRequestError(
            f"run {one.summary.id} of A and run {other.summary.id} of B are the same measurement, "
            f"saved twice by an import{more}: name each on one side alone"
        )


def _is_copy(one: StoredRun, other: StoredRun) -> bool:
    """Whether both are of one measurement; only an import makes a second run of it."""
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
