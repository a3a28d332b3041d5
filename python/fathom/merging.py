"""One result of several that were measured together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check_text", "merge", "merged_text"]


def merge(results: Iterable[Result], *, tolerance: float = 0.01) -> Result:
    """Return one result of several that were measured together, such as on several hosts.

    It is exact: threads are put beside each other with all that they measured, so that I/Os, bytes,
    histograms and series are sums of what was counted, and percentiles are those of all I/Os. No
    mean is taken of means. ``raw["parts"]`` has what belongs to each host alone, such as the use of
    its CPUs. A merged result can be merged again.

    Raises
    ------
    FathomError
        If they cannot be added: there is none, they did not request the same, or their load did
        not begin and end together (within ``tolerance``, a share of the measured time, or 50 ms;
        ``RunHandle.start`` takes an instant).

    """
    texts = (json.dumps(dict(one.raw)) for one in results)
    return Result.from_json(merged_text(((text, None, 0) for text in texts), tolerance))


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
