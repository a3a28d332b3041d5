"""Not steady: the rate wandered or drifted within a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom._digits import beside_limit
from fathom.findings._series import settled_rates
from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED, NOTHING, STALLED
from fathom.findings.finding import Noticed, Rule
from fathom.findings.rules.burst_credits import step_of
from fathom.stats.snia import FIT_PERCENT, RANGE_PERCENT, WINDOW_ROUNDS
from fathom.stats.steady import check_window
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

_PERCENT = 100
_LONGER = "Measure longer (-d, --stop-steady)"
_LONGER_AT_MOST = "Measure longer (-d, the longest time that --stop-steady is waited for)"
_LATER = "Warm up for longer (-W), as --stop-steady judges the last window alone"
_PRECONDITIONED = "and precondition the device for writes"
_QUIET = (
    "Measure again without what the other findings say of these runs; only then is it the device's."
)
# A core at its limit is steady, and stalls are what makes a device unsteady.
_DISTURBED = EXPLAINED - CORE_AT_ITS_LIMIT - STALLED


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Apply the rules of the SNIA to fifths of a run, and weigh runs by how far they range."""
    for one in evidence.observed:
        rates = settled_rates(one.result)
        if rates is None or one.load.is_paced:
            continue
        disturbed = bool(one.warned & _DISTURBED)
        # Two steady levels with a step between them are a finding of their own.
        if not disturbed and step_of(one) is not None:
            continue
        fifths = np.array([part.mean() for part in np.array_split(rates, WINDOW_ROUNDS)])
        check = check_window(fifths)
        if check.is_steady:
            continue
        yield Noticed(
            f"{one.load.words()}, {one.load.outstanding} outstanding: fifths of the run gave "
            f"{rate_words(fifths.min())} to {rate_words(fifths.max())} IOPS (range "
            f"{beside_limit(_PERCENT * check.range_share, RANGE_PERCENT)} % of the mean, drift "
            f"{beside_limit(_PERCENT * check.fit_share, FIT_PERCENT)} %; "
            f"{RANGE_PERCENT} % and {FIT_PERCENT} % are allowed).",
            _remedy(one),
            "likely",
            (one,),
            check.range_share,
        )


def _remedy(one: Observed) -> str:
    """Return what to do: what other findings say comes first, and only writes wear a device."""
    if one.warned & (_DISTURBED | STALLED):
        return _QUIET
    longer = _longer(one)
    return f"{longer}, {_PRECONDITIONED}." if one.load.write_percent > 0 else f"{longer}."


def _longer(one: Observed) -> str:
    """Return how to get to a steady rate: a rule that ends the run may be set already."""
    rules = one.result.raw["request"]["profile"]["time_spans"][0].get("stop") or {}
    if not rules.get("steady"):
        return _LONGER
    stop = one.result.time_spans[0].stop
    return _LATER if stop is not None and stop.cause == "steady" else _LONGER_AT_MOST


RULE = Rule(
    "not-steady",
    "The rate was not steady by the SNIA's rules",
    "SNIA SSS PTS 2.0.2, 2.1.24: range 20 %, slope 10 % over a window of five rounds",
    _look,
    # It is about the run: what the rate is worth, whoever made it so. The remedy says which.
    explained_by=NOTHING,
    fires_when="Fifths of a run, without its warm-up, break the rules of the SNIA.",
    place=240,
)
