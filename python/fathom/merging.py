"""One result of several that were measured together."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom.errors import InvalidRequestError
from fathom.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_text", "merge", "merged_text"]


def merge(results: Iterable[Result], *, tolerance: float = 0.01) -> Result:
    """Return one result of several parts of one load, such as those of several hosts.

    It is exact: threads are put beside each other with all that they measured, so that I/Os, bytes,
    histograms and series are sums of what was counted, and percentiles are those of all I/Os. No
    mean is taken of means. ``raw["parts"]`` has what belongs to each host alone, such as the use of
    its CPUs. A merged result can be merged again.

    The requests of the parts are the same but for what each has of its own: where its targets are,
    its range of them (``-B``, ``-f``, and the ``range`` of a pattern), its CPUs (``-a``, ``-n``),
    and its random numbers (``-z``).

    Raises
    ------
    InvalidRequestError
        If these are no results, or the tolerance is no share of a whole.
    FathomError
        If they cannot be added: there is none, one is there twice, they did not request the same
        (the message names the field), or their load did not begin and end together (within
        ``tolerance``, a share of the measured time from 0 to 1, or 50 ms; ``RunHandle.start`` takes
        an instant).

    """
    texts = [json.dumps(dict(one.raw)) for one in _each(results)]
    share = _share(tolerance)
    return Result.from_json(merged_text(((text, None, 0) for text in texts), share))


def _each(results: Iterable[Result]) -> list[Result]:
    if isinstance(results, Result):
        raise InvalidRequestError("there is one result alone, which needs no merging: list several")
    try:
        several = [*results]
    except TypeError:
        raise InvalidRequestError(
            f"results are listed to merge them, not {type(results).__name__}"
        ) from None
    for place, one in enumerate(several):
        if not isinstance(one, Result):
            raise InvalidRequestError(
                f"what is to be merged at place {place} is no Result but {type(one).__name__}; "
                "Result.from_json reads the JSON form"
            )
    return several


def _share(tolerance: float) -> float:
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not is_number or not math.isfinite(tolerance) or not 0 <= tolerance < 1:
        raise InvalidRequestError(
            f"a tolerance is a share of the measured time, from 0 to less than 1, not {tolerance!r}"
        )
    return float(tolerance)


def merged_text(parts: Iterable[tuple[str, str | None, int]], tolerance: float) -> str:
    """Return in the JSON form what ``merge`` does, of results in that form.

    With each stands the name that its host has in the whole, or None, and by how many nanoseconds
    the clock of that host is ahead of the whole's.

    Raises
    ------
    FathomError
        As ``merge``.

    """
    return _fathom.merge_results([*parts], tolerance)


def check_text(text: str) -> None:
    """Raise an error if this is no result in the JSON form that could be merged.

    Raises
    ------
    FathomError
        If the engine cannot read it.

    """
    _fathom.check_result(text)
