"""Whether rounds were steady by our own test, which a slow approach or a cliff does not pass.

SNIA's rule looks at five rounds, so that a fall by 2 % a round passes it, wherever that will end.
Here all rounds count. Steady are rounds among which nothing stands apart, rises or falls, changes
level or comes again, and of which that is known: where the rate may still end more than 10 % away,
the rounds are too few to tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from fathom._p_values import p_equation
from fathom.stats.floats import as_values
from fathom.stats.mean import LEAST_VALUES
from fathom.stats.snia import RANGE_PERCENT, WINDOW_ROUNDS
from fathom.stats.spread import find_drift, find_outliers
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.stats.floats import FloatArray, Values

__all__ = ["Steadiness", "find_steadiness", "steadiness_words"]

LEAST_ROUNDS = WINDOW_ROUNDS
# Each test has its part of the 5 % of independent rounds that are called unsteady.
_LEVEL = 0.05 / 4
# A step counts only where nothing else than the step makes neighbours alike; that is doubted early.
_LEVEL_OF_MEMORY = 0.1
_DRAWS = 799
# Shares of the mean: SNIA's for the range; how far the end of an approach may be away; a round that
# stands apart; the least step or wave that is reported.
_RANGE = RANGE_PERCENT / 100
_AWAY = 0.10
_APART = 0.05
_SMALL = 0.02
# An approach with this time constant, or that of all rounds if they are more, is to be told.
_APPROACH_ROUNDS = 20
_MOST_ROUNDS = 400
# Fewer rounds than this have too few orders for a permutation to tell anything.
_LEAST_ORDERED = 8
_LEAST_PERIOD = 3
_IN_ORDER = 0.9
_ROUNDING = 1e-9
_PERCENT = 100


@dataclass(frozen=True)
class Steadiness:
    """What our own test says of rounds.

    Attributes
    ----------
    verdict
        ``steady``, ``not steady`` or ``cannot tell``.
    kind
        What speaks against it: ``range``, ``outlier``, ``trend``, ``level``, ``period``, ``memory``
        or ``few``; None of steady rounds.
    reason
        The same as a part of a sentence.
    needed
        How many rounds as noisy as these would tell; None if that is known already, or if no number
        up to 400 would.

    """

    verdict: Literal["steady", "not steady", "cannot tell"]
    kind: str | None
    reason: str
    needed: int | None = None

    @property
    def words(self) -> str:
        """The verdict with its reason, as a part of a sentence."""
        return steadiness_words(self.verdict, self.reason)


def steadiness_words(verdict: str, reason: str) -> str:
    """Return a verdict with its reason, as a part of a sentence."""
    return f"{verdict}{' whether steady' if verdict == 'cannot tell' else ''} ({reason})"


def find_steadiness(values: Values) -> Steadiness:
    """Judge rounds in their order.

    Raises
    ------
    ValueError
        If there is no round.

    """
    series = as_values(values)
    mean = abs(float(series.mean()))
    if series.size < LEAST_ROUNDS or mean == 0:
        words = (
            f"{counted(series.size, 'round')} tell{'s' * (series.size == 1)} nothing, it "
            f"takes {LEAST_ROUNDS}"
        )
        if series.size >= LEAST_ROUNDS:
            words = f"there was nothing in {series.size} rounds"
        return Steadiness("cannot tell", "few", words, LEAST_ROUNDS)
    shares = series / mean
    for test in (_range, _trend, _level, _period, _outlier):
        found = test(shares)
        if found is not None:
            return found
    return _known(shares)


def _range(shares: FloatArray) -> Steadiness | None:
    spread = float(np.ptp(shares))
    if spread <= _RANGE + _ROUNDING:
        return None
    cut, step, _ = _step(shares)
    words = f"rounds differ by up to {_PERCENT * spread:.0f} % of their mean"
    if math.isinf(step):
        words += f", and there was nothing until the end of round {cut}"
    elif abs(step) > spread / 2:
        words += f", those after round {cut} by {_PERCENT * step:+.0f} % from those before"
    return Steadiness("not steady", "range", words)


def _trend(shares: FloatArray) -> Steadiness | None:
    rise, half, p_value = _rise(shares)
    away = _to_the_end(shares.size) * (abs(rise) + half)
    if abs(rise) > _APART and _order(shares) > _IN_ORDER:
        # A curve resembles its line badly, and says by its order that it is no chance.
        p_value = min(p_value, _LEVEL / 2)
    if p_value >= _LEVEL or (away <= _AWAY and abs(rise) <= _APART):
        return None
    words = "falls" if rise < 0 else "rises"
    return Steadiness(
        "not steady",
        "trend",
        f"the rate {words} by {_PERCENT * abs(rise):.1f} % over {shares.size} rounds "
        f"(p {p_equation(p_value)}), and may go on by {_PERCENT * away:.0f} %",
    )


def _order(shares: FloatArray) -> float:
    """Return Spearman's correlation of rounds with their order, without its sign."""
    ranks = np.argsort(np.argsort(shares))
    found = np.corrcoef(ranks, np.arange(shares.size))[0, 1]
    return abs(float(found)) if shares.size >= _LEAST_ORDERED else 0.0


def _level(shares: FloatArray) -> Steadiness | None:
    """Look for the greatest difference between the rounds before and after a cut."""
    if shares.size < _LEAST_ORDERED:
        return None
    cut, step, height = _step(shares)
    if abs(step) < _SMALL or _share_above(shares, height, _greatest_steps) >= _LEVEL:
        return None
    at = np.arange(shares.size) < cut
    rest = shares - np.where(at, shares[at].mean(), shares[~at].mean())
    if _share_above(rest, _next(rest[None, :])[0], _next) < _LEVEL_OF_MEMORY:
        # What wanders has a greatest step, too, which is none of a level.
        return _wandering(rest)
    return Steadiness(
        "not steady",
        "level",
        f"the rate changes by {_PERCENT * step:+.1f} % after round {cut}",
    )


def _period(shares: FloatArray) -> Steadiness | None:
    """Look for what comes again, by the greatest autocorrelation."""
    if shares.size < _LEAST_ORDERED or float(np.ptp(shares)) < _SMALL:
        return None
    if _share_above(shares, _waves(shares[None, :])[0], _waves) >= _LEVEL:
        return None
    return _wandering(shares)


def _wandering(shares: FloatArray) -> Steadiness:
    at = 1 + int(np.argmax(_correlations(shares[None, :])[0]))
    if at >= _LEAST_PERIOD:
        return Steadiness("not steady", "period", f"the rate comes again every {at} rounds")
    return Steadiness(
        "cannot tell",
        "memory",
        "neighbouring rounds resemble each other: the rate wanders, more slowly than a round",
    )


def _outlier(shares: FloatArray) -> Steadiness | None:
    found = [one for one in find_outliers(shares, level=_LEVEL) if abs(one.value - 1) > _APART]
    if not found:
        return None
    rounds = ", ".join(str(one.index + 1) for one in found)
    return Steadiness("not steady", "outlier", f"round {rounds} stands apart from the others")


def _known(shares: FloatArray) -> Steadiness:
    """Say whether the rounds are enough to know that the rate ends where it is."""
    rise, half, _ = _rise(shares)
    away = _to_the_end(shares.size) * (abs(rise) + half)
    if away <= _AWAY:
        moved = round(_PERCENT * rise, 1) + 0.0  # There is no -0.0 %.
        return Steadiness(
            "steady",
            None,
            f"over {shares.size} rounds it moved by {moved:+.1f} %, and nothing stands apart, "
            "changes level or comes again",
        )
    needed = _needed(shares)
    more = f"about {needed} would tell" if needed else f"not even {_MOST_ROUNDS} would tell"
    return Steadiness(
        "cannot tell",
        "few",
        f"after {shares.size} rounds the rate may still end {_PERCENT * away:.0f} % away; {more}",
        needed,
    )


def _rise(shares: FloatArray) -> tuple[float, float, float]:
    """Return the rise of the line of least squares, half of its interval, and its p value."""
    count = shares.size
    positions = np.arange(count) - (count - 1) / 2
    power = float((positions**2).sum())
    slope = float((positions * shares).sum()) / power
    rest = shares - shares.mean() - slope * positions
    deviation = math.sqrt(float((rest**2).sum()) / (count - 2))
    rise, error = slope * (count - 1), deviation / math.sqrt(power) * (count - 1)
    half = float(stdtrit(count - 2, 1 - 0.05 / 2)) * error
    if error <= _ROUNDING:
        return rise, half, 0.0 if abs(rise) > _ROUNDING else 1.0
    p_value = 2 * float(stdtr(count - 2, -abs(rise) / error))
    if count >= LEAST_VALUES:
        # Neighbours that resemble each other seem to drift.
        p_value = max(p_value, find_drift(shares).p_value)
    return rise, half, p_value


def _to_the_end(count: int) -> float:
    """Return by how much the way to an approach's end exceeds what these rounds have seen of it."""
    constant = max(_APPROACH_ROUNDS, count)
    return math.exp(-(count - 1) / constant) / -math.expm1(-(count - 1) / constant)


def _needed(shares: FloatArray) -> int | None:
    positions = np.arange(shares.size) - (shares.size - 1) / 2
    line = np.polyfit(positions, shares, 1)
    deviation = float((shares - np.polyval(line, positions)).std(ddof=2))
    for count in range(shares.size + 1, _MOST_ROUNDS + 1):
        error = deviation * (count - 1) * math.sqrt(12 / (count * (count**2 - 1)))
        # As much again for the rise that is seen by chance.
        if _to_the_end(count) * 1.5 * float(stdtrit(count - 2, 0.975)) * error <= _AWAY:
            return count
    return None


def _steps(rows: FloatArray) -> FloatArray:
    """Return for each row and cut how far the parts differ, in standard errors but for a factor."""
    count = rows.shape[-1]
    before = np.arange(1, count)
    sums = np.cumsum(rows - rows.mean(axis=-1, keepdims=True), axis=-1)[..., :-1]
    return np.asarray(sums / np.sqrt(before * (count - before) / count))


def _greatest_steps(rows: FloatArray) -> FloatArray:
    return np.asarray(np.abs(_steps(rows)).max(axis=-1))


def _step(shares: FloatArray) -> tuple[int, float, float]:
    """Return after which round the level changes most, by how much, and how clearly."""
    heights = np.abs(_steps(shares))
    cut = 1 + int(np.argmax(heights))
    before = float(shares[:cut].mean())
    step = float(shares[cut:].mean()) / before - 1 if before else math.inf
    return cut, step, float(heights[cut - 1])


def _correlations(rows: FloatArray) -> FloatArray:
    """Return the autocorrelations of rows at the lags from 1 to half of their length."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    power = np.maximum((centred**2).sum(axis=-1), _ROUNDING**2)
    count = rows.shape[-1]
    lags = range(1, count // 2 + 1)
    # Each by the pairs that it has, so that a long period counts as much as a short one.
    found = [
        (centred[..., lag:] * centred[..., : count - lag]).sum(axis=-1)
        / power
        * math.sqrt(count / (count - lag))
        for lag in lags
    ]
    return np.stack(found, axis=-1)


def _waves(rows: FloatArray) -> FloatArray:
    return np.asarray(_correlations(rows).max(axis=-1))


def _next(rows: FloatArray) -> FloatArray:
    """Return how much of a round's deviation the next one repeats."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    return np.asarray((centred[..., 1:] * centred[..., :-1]).sum(axis=-1))


def _share_above(
    shares: FloatArray, found: float, statistic: Callable[[FloatArray], FloatArray]
) -> float:
    """Return the share of the orders of these rounds in which a statistic is at least so great."""
    random = np.random.default_rng(0)
    rows = random.permuted(np.tile(shares, (_DRAWS, 1)), axis=1)
    above = statistic(rows) >= found - _ROUNDING
    return (1 + int(above.sum())) / (_DRAWS + 1)
