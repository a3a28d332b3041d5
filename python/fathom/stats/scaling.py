"""How throughput grows with load: Gunther's Universal Scalability Law, and the knee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # Its `optimize` is slow to import, which SciPy does when it is first used.
from scipy.special import stdtrit

from fathom.stats.floats import as_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray, Values

__all__ = ["LoadPoint", "ScalabilityLaw", "find_knee", "fit_scalability"]

_PARAMETERS = 3
# Our choice: three times the share that defines the knee.
GREATEST_ERROR = 0.10
KNEE_SHARE = 0.03
_DRAWS = 199
_NORMAL = 1.96
# So many times the greatest load a peak may lie beyond it and be told, as axes double.
_NEAR = 2.0
# Loads are whole numbers: what ends less than this beyond one ends at it.
_HALF_A_STEP = 0.5


@dataclass(frozen=True)
class ScalabilityLaw:
    """X(N) = rate N / (1 + contention (N - 1) + coherence N (N - 1)).

    Gunther, "A General Theory of Computational Scalability Based on Rational Functions" (2008).

    Attributes
    ----------
    rate
        Throughput of one unit of load.
    contention
        The share that waits for its turn (sigma).
    coherence
        What each pair costs (kappa).
    relative_error
        Standard deviation of the relative differences between points and law: of their squares the
        sum, by the number of points less that of parameters.
    r_squared
        Share of the variance of the throughputs' logarithms that the law explains.
    worst_load, worst_share
        Where the points lie farthest from the law, and by what share of it.
    least_load, greatest_load
        The least and the greatest load among the points; beyond these the law is a guess.
    peak_low, peak_high
        Between which loads the greatest throughput is, at 95 % (bootstrap of the residuals);
        infinite where the points do not show that it ever falls.

    """

    rate: float
    contention: float
    coherence: float
    relative_error: float
    r_squared: float
    worst_load: float
    worst_share: float
    greatest_load: float
    peak_low: float = 1.0
    peak_high: float = float("inf")
    least_load: float = 1.0

    @property
    def has_peak(self) -> bool:
        """Whether the points show a peak: its interval ends within what was measured, or near."""
        return self.is_fitting and self.peak_high <= _NEAR * self.greatest_load

    @property
    def only_falls(self) -> bool:
        """Whether the points show that throughput falls from the least load on."""
        return self.has_peak and self.peak_high < self.least_load + _HALF_A_STEP

    @property
    def is_fitting(self) -> bool:
        """Whether the law describes the points: they lie within 10 % of it.

        A constant throughput is described well and has an R squared of 0, so it is no criterion.
        """
        return self.relative_error <= GREATEST_ERROR

    def throughput(self, load: Values) -> FloatArray:
        """Return what the law says for a load."""
        return _law(as_values(np.atleast_1d(load)), self.rate, self.contention, self.coherence)

    @property
    def best_load(self) -> float:
        """The load of the greatest throughput: 1 or more, and within the interval of the peak.

        Infinite if more always gives more.
        """
        return min(max(self._own_peak, self.peak_low), self.peak_high)

    @property
    def _own_peak(self) -> float:
        """Where the law itself has its peak; no load is less than 1."""
        if self.coherence <= 0:
            return float("inf")
        return max(float(np.sqrt(max(1 - self.contention, 0.0) / self.coherence)), 1.0)

    @property
    def limit(self) -> float:
        """The greatest throughput at any load; infinite if the law has none."""
        if self.coherence > 0:
            return float(self.throughput(self._own_peak)[0])
        return self.rate / self.contention if self.contention > 0 else float("inf")


def _law(load: FloatArray, rate: float, contention: float, coherence: float) -> FloatArray:
    waiting = contention * (load - 1) + coherence * load * (load - 1)
    return np.asarray(rate * load / (1 + waiting))


def fit_scalability(loads: Values, throughputs: Values) -> ScalabilityLaw:
    """Fit the law to measured points; each counts by its relative error.

    Raises
    ------
    ValueError
        If there are fewer than 4 different loads, or a load or throughput is not above 0.

    """
    load = as_values(loads)
    throughput = as_values(throughputs)
    if load.shape != throughput.shape or np.unique(load).size <= _PARAMETERS:
        raise ValueError(f"the law needs points at more than {_PARAMETERS} different loads")
    if load.min() <= 0 or throughput.min() <= 0:
        raise ValueError("loads and throughputs are above 0")

    def residuals(parameters: FloatArray) -> FloatArray:
        rate, contention, coherence = np.exp(parameters[0]), parameters[1], parameters[2]
        return np.asarray(np.log(_law(load, rate, contention, coherence) / throughput))

    rate = float(np.max(throughput / load))
    # From two starts, as a fit may end where contention hides what coherence is.
    fits = [
        scipy.optimize.least_squares(
            residuals, (np.log(rate), *start), bounds=([-np.inf, 0, 0], [np.inf, 1, np.inf])
        )
        for start in ((0.05, 1e-4), (0.5, 1e-2))
    ]
    best = min(fits, key=lambda fit: float(fit.cost))
    found = residuals(best.x)
    height = np.log(throughput)
    spread = float(((height - height.mean()) ** 2).sum())
    worst = int(np.argmax(np.abs(found)))
    low, high = _peak_limits(load, height + found, found)
    return ScalabilityLaw(
        rate=float(np.exp(best.x[0])),
        contention=float(best.x[1]),
        coherence=float(best.x[2]),
        relative_error=float(np.sqrt((found**2).sum() / (load.size - _PARAMETERS))),
        r_squared=1 - float((found**2).sum()) / spread if spread > 0 else 0.0,
        worst_load=float(load[worst]),
        # The residuals are logarithms of law by point.
        worst_share=float(np.expm1(-found[worst])),
        least_load=float(load.min()),
        greatest_load=float(load.max()),
        peak_low=low,
        peak_high=high,
    )


def _peak_limits(load: FloatArray, law: FloatArray, found: FloatArray) -> tuple[float, float]:
    """Return the interval of the peak: residuals are drawn again and put to the law's logarithms.

    Each draw is fitted in the form that is linear in the parameters, load by throughput, with all
    of them at least 0.
    """
    random = np.random.default_rng(0)
    # Residuals are smaller than the errors behind them, as the law follows these; and few of them
    # do not tell how great these are (Student).
    freedom = load.size - _PARAMETERS
    scale = np.sqrt(load.size / freedom) * stdtrit(freedom, 0.975) / _NORMAL
    centred = (found - found.mean()) * scale
    design = np.column_stack((np.ones(load.size), load - 1, load * (load - 1)))
    peaks = []
    for drawn in random.choice(centred, (_DRAWS, load.size)):
        weights = np.exp(law + drawn) / load
        base, waiting, pairs = scipy.optimize.nnls(design * weights[:, None], np.ones(load.size))[0]
        peaks.append(np.sqrt(max(base - waiting, 0.0) / pairs) if pairs > 0 else np.inf)
    low, high = np.sort(peaks)[[int(_DRAWS * 0.025), int(_DRAWS * 0.975)]]
    return max(float(low), 1.0), max(float(high), 1.0)


@dataclass(frozen=True)
class LoadPoint:
    """What was measured at one load; latency in nanoseconds, throughput in any unit."""

    load: float
    throughput: float
    latency_ns: float


def find_knee(points: Sequence[LoadPoint], *, share: float = KNEE_SHARE) -> LoadPoint:
    """Return the point of least latency within this share of the greatest throughput.

    Of points with the same latency, the one with the least load.

    Raises
    ------
    ValueError
        If there are no points.

    """
    if not points:
        raise ValueError("the knee needs at least one point")
    enough = max(point.throughput for point in points) * (1 - share)
    close = [point for point in points if point.throughput >= enough]
    return min(close, key=lambda point: (point.latency_ns, point.load))
