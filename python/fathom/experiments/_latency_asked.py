"""Whether arguments measure what an experiment is to know: latency needs its option."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from fathom.engine import load_of
from fathom.errors import InvalidRequestError
from fathom.metrics import is_latency

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["refuse_unmeasured"]


def refuse_unmeasured(metrics: Iterable[str], arguments: Sequence[str]) -> None:
    """Refuse a metric of latency where the runs would have none.

    Raises
    ------
    InvalidRequestError
        If there is such a metric, or the arguments are wrong.

    """
    wanted = [metric for metric in metrics if is_latency(metric)]
    if not wanted:
        return
    with warnings.catch_warnings():
        # Each run tells them.
        warnings.simplefilter("ignore")
        spans = load_of(arguments).profile.time_spans
    if not spans[0].measure_latency:
        raise InvalidRequestError(
            f"{', '.join(wanted)} would be missing: the arguments measure no latency; add -L"
        )
