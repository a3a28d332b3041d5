"""Is B different from A? Effect size, interval and test for two sets of runs.

The unit is the run: the I/Os and the seconds of one run resemble each other, and runs differ among
themselves by more than their seconds tell. Where there is only one run, its seconds are all there
is, and the result says that differences between runs are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from fathom.stats._contrast import Side, contrast, resemblance
from fathom.stats.floats import as_values
from fathom.stats.mean import LEAST_VALUES, long_run
from fathom.stats.ranks import LEAST_FOR_RANKS, flip_p_value, sign_p_value, signed_rank_p_value
from fathom.stats.spread import find_outliers
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray, Values

__all__ = ["Comparison", "compare_means", "deviations", "run_means"]


@dataclass(frozen=True)
class Comparison:
    """How the mean of B differs from that of A, as a share of A's: 0.03 is 3 % more.

    Attributes
    ----------
    change, low, high
        The change and the interval that holds the true one with the given confidence.
    p_value
        The probability of a change so great by chance, if this is the only figure looked at.
    effect_size
        The change in units of the standard deviation between runs (Hedges' g, 1981); None where one
        side has a single run.
    between_runs
        Whether differences between runs are accounted for; if not, the interval is too narrow.
    resemblance
        How much of a run's deviation the next run repeats: about 0 for independent runs.
    in_turns
        Whether each run of A was compared with the one of B beside it.
    family_p_value
        The probability that this or any less certain one of the figures that are compared together
        changes so by chance; None if this is the only one.
    error, freedom
        The standard error of the logarithm of the ratio, and its degrees of freedom.
    doubts
        What speaks against taking the runs as two samples, in words: nothing can be told of a
        difference then. Of interleaved runs there is none.
    t_p_value
        That of Student's test; it counts unless drawn pairs have outliers.
    flip_p_value
        Of drawn pairs, that of their mean among all signs that chance could have drawn, which no
        noise makes too small; it counts where it is greater than Student's.
    signed_rank_p_value
        Of pairs, that of Wilcoxon's signed ranks; of drawn ones with outliers it counts from 16 on.
    sign_p_value
        That of signs, where drawn pairs have outliers: below 16 it counts.
    outliers
        The runs that stand apart from those of their side (of pairs: the pairs), as side and index
        from 0, with what the change would be without each.

    """

    change: float
    low: float
    high: float
    confidence: float
    p_value: float
    effect_size: float | None
    between_runs: bool
    a_mean: float
    b_mean: float
    a_runs: int
    b_runs: int
    resemblance: float = 0.0
    in_turns: bool = False
    family_p_value: float | None = None
    error: float | None = None
    freedom: float | None = None
    doubts: tuple[str, ...] = ()
    t_p_value: float | None = None
    flip_p_value: float | None = None
    signed_rank_p_value: float | None = None
    sign_p_value: float | None = None
    outliers: tuple[tuple[str, int, float], ...] = ()

    @property
    def is_different(self) -> bool:
        """Whether chance is no explanation at the confidence requested."""
        known = self.p_value if self.family_p_value is None else self.family_p_value
        return known < 1 - self.confidence and not self.doubts

    @property
    def can_tell(self) -> bool:
        """Whether the runs are such that a test of their means says what it seems to say."""
        return self.between_runs and not self.doubts and self.error is not None

    @property
    def single_side(self) -> str:
        """Which side has a single run, in words; empty where none has."""
        if self.between_runs:
            return ""
        if self.a_runs == self.b_runs:
            return "each side has a single run"
        return f"{'A' if self.a_runs < self.b_runs else 'B'} has a single run"

    def p_beyond(self, limit: float) -> float:
        """Return how likely a change so great is, if the true one is at most this (one-sided)."""
        return self._one_sided(limit, 1.0)

    def p_below(self, limit: float) -> float:
        """Return how likely a change so small is, if the true one is at least this (one-sided)."""
        return self._one_sided(limit, -1.0)

    def _one_sided(self, limit: float, side: float) -> float:
        if not self.can_tell or self.error is None or self.freedom is None or limit <= -1:
            return 1.0
        apart = side * (float(np.log1p(self.change)) - float(np.log1p(limit)))
        if self.error == 0:
            return 0.0 if apart > 0 else 1.0
        return float(stdtr(self.freedom, -apart / self.error))

    def is_equal(self, margin: float) -> bool:
        """Whether the true change is within a margin to both sides (two one-sided tests).

        Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987.
        """
        level = 1 - self.confidence
        return self.p_beyond(-margin) < level and self.p_below(margin) < level


def compare_means(  # noqa: PLR0913 - All but the first two have defaults and names.
    a_runs: Sequence[Values],
    b_runs: Sequence[Values],
    *,
    confidence: float = 0.95,
    a_pilot: int | None = None,
    b_pilot: int | None = None,
    in_turns: bool = False,
    is_drawn: bool = False,
) -> Comparison:
    """Compare two sets of runs, each with its series in the order of time, or with one value.

    The test is Student's on the logarithms of the runs' means, so that the change is a ratio and
    its interval is too. The standard error is the greater of two: that of independent runs with
    unequal spread (Welch), and that of runs that resemble their neighbours (``_contrast``). With
    one run on either side, that side's variance is the long-run variance of its series.

    Parameters
    ----------
    a_runs, b_runs
        For each run a series without its warm-up (at least 8 values), or a single value; the runs
        are in the order of time.
    confidence
        Of the interval; the test is at one minus this.
    a_pilot, b_pilot
        If the number of runs was decided by the spread of the first ones, how many these were; the
        spread is then theirs alone (see ``planned_count``).
    in_turns
        The runs were interleaved, so that the first of A belongs to the first of B: what both
        share, such as a slow change of the machine, then takes no part.
    is_drawn
        Which run of each such pair came first was drawn by chance, and ``a_pilot`` counts the
        pairs whose spread decided how many there are.

    Raises
    ------
    ValueError
        If a value is not above 0, one side has a single run with fewer than 8 values, or runs in
        turns are not of one number.

    """
    sides = a, b = [_side(a_runs, a_pilot), _side(b_runs, b_pilot)]
    tested = sides
    if in_turns:
        if len(a.values) != len(b.values) or len(a.values) < 2:  # noqa: PLR2004 - No spread.
            raise ValueError("interleaved runs are as many of A as of B, and at least 2 of each")
        pilot = a_pilot if is_drawn else None
        tested = [Side(b.values - a.values, pilot, is_drawn=is_drawn)]
    found = contrast(tested)
    half = float(stdtrit(found.freedom, (1 + confidence) / 2)) * found.error
    difference = float(found.difference[0])
    pairs = b.values[:, 0] - a.values[:, 0] if in_turns else None
    outliers = _outliers(a.values[:, 0], b.values[:, 0], pairs)
    between = min(len(a.values), len(b.values)) > 1
    ranks = None if pairs is None else signed_rank_p_value(pairs)
    signs = sign_p_value(pairs) if pairs is not None and is_drawn and _hides(pairs) else None
    flips = flip_p_value(pairs) if pairs is not None and is_drawn else None
    return Comparison(
        change=float(np.expm1(difference)),
        low=float(np.expm1(difference - half)),
        high=float(np.expm1(difference + half)),
        confidence=confidence,
        p_value=_counting(found.p_value, len(a.values), ranks, signs, flips),
        effect_size=_hedges(a.values[:, 0], b.values[:, 0]),
        between_runs=between,
        a_mean=float(np.exp(a.mean[0])),
        b_mean=float(np.exp(b.mean[0])),
        a_runs=len(a.values),
        b_runs=len(b.values),
        resemblance=resemblance(tested),
        in_turns=in_turns,
        error=found.error,
        freedom=found.freedom,
        t_p_value=found.p_value,
        flip_p_value=flips,
        signed_rank_p_value=ranks,
        sign_p_value=signs,
        outliers=outliers,
    )


def _hides(pairs: FloatArray) -> bool:
    """Whether an outlier among drawn differences may hide the rest from their mean.

    That must not depend on their signs: by which test they are judged would else tell which signs
    chance has drawn, and the test would find too much.
    """
    return bool(find_outliers(np.concatenate([pairs, -pairs])))


def _counting(
    student: float, pairs: int, ranks: float | None, signs: float | None, flips: float | None
) -> float:
    """Return the probability that counts: one test's, and not the better one's of several.

    Where an outlier hides the rest from the mean, signs and ranks still see it. Otherwise Student's
    counts only as far as the signs that were drawn bear it: under noise that is not normal, such as
    a steep drift, it is too small by itself.
    """
    if flips is None:
        return student
    if signs is None or ranks is None:
        return max(student, flips)
    return ranks if pairs >= LEAST_FOR_RANKS else signs


def _outliers(
    a: FloatArray, b: FloatArray, pairs: FloatArray | None
) -> tuple[tuple[str, int, float], ...]:
    """Return side, index and the change without each run that stands apart."""
    found = []
    if pairs is not None:
        for one in find_outliers(pairs):
            rest = np.delete(pairs, one.index)
            found.append(("pair", one.index, float(np.expm1(rest.mean()))))
        return tuple(found)
    for side, own, other, sign in (("A", a, b, -1), ("B", b, a, 1)):
        for one in find_outliers(own):
            apart = float(np.delete(own, one.index).mean()) - float(other.mean())
            found.append((side, one.index, float(np.expm1(sign * apart))))
    return tuple(found)


def deviations(
    a_runs: Sequence[Values], b_runs: Sequence[Values], *, is_drawn: bool = False
) -> FloatArray:
    """Return by how much the logarithm of each run's mean is off that of its side.

    Of pairs that were drawn, by how much each difference is off their mean.
    """
    sides = [np.log(run_means(side)) for side in (a_runs, b_runs)]
    if is_drawn:
        sides = [sides[1] - sides[0]]
    return np.concatenate([side - side.mean() for side in sides])


def _side(runs: Sequence[Values], pilot: int | None) -> Side:
    if not len(runs):
        raise ValueError("both sides need at least one run")
    series = _rows(runs)
    rates = np.array([one.sum(axis=-1) / one.shape[-1] for one in series]).reshape(-1, 1)
    if min(one.min() for one in series) < 0 or rates.min() <= 0:
        raise ValueError("rates and latencies to compare are above 0")
    means = np.log(rates)
    if len(means) > 1:
        return Side(means, pilot)
    only = series[0].reshape(-1)
    if only.size < LEAST_VALUES:
        raise ValueError(
            f"one run with {counted(only.size, 'interval')} tells nothing of its spread: "
            "repeat it, or keep "
            f"at least {LEAST_VALUES} intervals (-D)"
        )
    found = long_run(only)
    # The variance of a logarithm is the relative variance (delta method).
    variance = float(found.variance) / only.size / float(only.mean()) ** 2
    return Side(means, known=(variance, float(found.freedom)))


def _rows(runs: Sequence[Values]) -> list[FloatArray]:
    """Return the series: one array of all runs where these are of one length, which is quick."""
    if len({np.size(one) for one in runs}) == 1:
        return [as_values(np.asarray(runs, float).reshape(len(runs), -1))]
    return [as_values(np.atleast_1d(np.asarray(one, float))) for one in runs]


def run_means(runs: Sequence[Values]) -> FloatArray:
    """Return the mean of each run, which has a series or one value."""
    means = [one.mean(axis=-1) for one in _rows(runs)]
    return np.asarray(means).reshape(-1)


def _hedges(a: FloatArray, b: FloatArray) -> float | None:
    if min(a.size, b.size) < 2:  # noqa: PLR2004 - One value has no deviation.
        return None
    freedom = a.size + b.size - 2
    pooled = ((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / freedom
    if pooled == 0:
        return None
    correction = 1 - 3 / (4 * freedom - 1)
    return float((b.mean() - a.mean()) / np.sqrt(pooled) * correction)
