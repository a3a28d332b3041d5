"""One result of several that were measured together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["merge", "merged_text"]


def merge(results: Iterable[Result], *, tolerance: float = 0.01) -> Result:
    """Return one result of several that were measured together, such as on several hosts.

    It is exact: threads are put beside each other with all that they measured, so that I/Os, bytes,
    histograms and series are sums of what was counted, and percentiles are those of all I/Os. No
    mean is taken of means. ``raw["parts"]`` has what belongs to each host alone, such as the use of
    its CPUs. A merged result can be merged again.

    Raises
    ------
    FathomError
        If they cannot be added: there is none, they were not asked for the same, or their load did
        not begin and end together (within ``tolerance``, a share of the measured time, or 50 ms;
        ``RunHandle.start`` takes an instant).

    """
    return Result.from_json(merged_text((json.dumps(dict(one.raw)) for one in results), tolerance))


def merged_text(texts: Iterable[str], tolerance: float) -> str:
    """Return in the JSON form what ``merge`` does, of results in that form.

    Raises
    ------
    FathomError
        As ``merge``.

    """
    return _fathom.merge_results([*texts], tolerance)
