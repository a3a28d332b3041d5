"""A smooth surface through a few measured points, and how far it can be trusted elsewhere.

A Gaussian process (Rasmussen & Williams, "Gaussian Processes for Machine Learning", 2006, chapters
2, 4 and 5): a plane, plus a Matern-3/2 part, which allows bends, with a length of its own along
each axis. The lengths are those of the greatest marginal likelihood. Where it is requested, each
value of an axis has an offset of its own besides, as odd numbers of threads may have: what is not
smooth along an axis, but the same along the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # Its `optimize` is slow to import, which SciPy does when it is first used.
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from fathom.stats.floats import as_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray, Values

__all__ = ["Surface", "fit_surface"]

# The plane and the height may be anything, in units of the logarithms that are fitted.
_FREE = 10.0**2
_LEAST_POINTS = 4
# Bounds of the natural logarithms of deviation, lengths (in units of the axes) and noise.
_DEVIATION = (np.log(0.01), np.log(10.0))
_LENGTH = (np.log(0.3), np.log(60.0))
_OFFSET = (np.log(0.0005), np.log(0.5))
_NOISE = (np.log(0.001), np.log(0.2))


@dataclass(frozen=True)
class Surface:
    """A fitted surface; made by ``fit_surface``."""

    points: FloatArray
    parameters: FloatArray
    rows: tuple[int, ...]
    _mean: float
    _weights: FloatArray
    _factor: FloatArray

    @property
    def noise(self) -> float:
        """The standard deviation of what is no part of the surface."""
        return float(np.exp(self.parameters[-1]))

    def predict(self, points: Values) -> tuple[FloatArray, FloatArray]:
        """Return the height at each point, and the standard deviation of its error."""
        places = as_values(points)
        across = _covariance(places, self.points, self.parameters, self.rows)
        solved = solve_triangular(self._factor, across.T, lower=True)
        own = _own_variance(places, self.parameters, self.rows)
        variance = np.maximum(own - (solved**2).sum(axis=0), 0.0)
        return np.asarray(self._mean + across @ self._weights), np.sqrt(variance)

    def held_out_scores(self) -> FloatArray:
        """Return how far each point lies from what the others predict, in standard deviations.

        Leave-one-out by the formulas of the book (5.4.2); the lengths stay those of all points.
        """
        inverse = cho_solve((self._factor, True), np.eye(len(self._weights)))
        return np.asarray(self._weights / np.sqrt(np.diag(inverse)))

    def spread_out(self, points: Values, most: int) -> list[int]:
        """Return which points to measure next so that the most is learnt, at most so many.

        One after the other the least known one, each time as if those before had been measured.
        """
        places = as_values(points)
        across = _covariance(places, self.points, self.parameters, self.rows)
        solved = solve_triangular(self._factor, across.T, lower=True)
        left = _covariance(places, places, self.parameters, self.rows) - solved.T @ solved
        noise = float(np.exp(2 * self.parameters[-1]))
        chosen: list[int] = []
        for _ in range(min(most, len(places))):
            known = np.diag(left).copy()
            known[chosen] = -np.inf
            best = int(np.argmax(known))
            chosen.append(best)
            column = left[:, best].copy()
            left -= np.outer(column, column) / (column[best] + noise)
        return chosen


def fit_surface(
    points: Values,
    heights: Values,
    *,
    start: FloatArray | None = None,
    rows: Sequence[int] = (),
) -> Surface:
    """Fit a surface to heights at points, one row each.

    ``start`` are the parameters of an earlier fit to fewer of the points, near which to look.
    ``rows`` are the axes whose values have offsets of their own.

    Raises
    ------
    ValueError
        If there are fewer than 4 points.

    """
    places, values = as_values(points), as_values(heights)
    if len(values) < _LEAST_POINTS:
        raise ValueError(f"a surface needs {_LEAST_POINTS} points, not {len(values)}")
    mean = float(values.mean())
    values = values - mean
    pairs = _Pairs.of(places, places, tuple(rows))
    bounds = [_DEVIATION, *[_LENGTH] * places.shape[1], *[_OFFSET] * len(rows), _NOISE]
    lengths, offsets = [np.log(4.0)] * places.shape[1], [np.log(0.01)] * len(rows)
    first = [np.log(0.5), *lengths, *offsets, np.log(0.01)]
    found = scipy.optimize.minimize(
        _cost,
        first if start is None else start,
        args=(pairs, values),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 40},
    )
    parameters = np.asarray(found.x)
    factor = _factor(pairs.covariance(parameters), parameters)
    weights = cho_solve((factor, True), values)
    return Surface(places, parameters, tuple(rows), mean, weights, factor)


@dataclass(frozen=True)
class _Pairs:
    """What pairs of points have whatever the parameters are: made once for all steps of a fit.

    Attributes
    ----------
    plane
        The covariance of the plane.
    squares
        The squares of the distances: a row for each axis, of all pairs.
    alike
        Which pairs have the same value, as 0 and 1: a row for each axis with offsets.

    """

    plane: FloatArray
    squares: FloatArray
    alike: FloatArray

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray, rows: tuple[int, ...]) -> _Pairs:
        """Pair each point of one set with each of another."""
        apart = a.T[:, :, None] - b.T[:, None, :]
        alike = (apart[list(rows)] == 0).astype(np.float64)
        plane = _FREE * (1 + a @ b.T)
        squares = (apart**2).reshape(len(apart), plane.size)
        return cls(plane, squares, alike.reshape(len(rows), plane.size))

    def distance(self, parameters: FloatArray) -> FloatArray:
        """Return the scaled distances times the root of 3."""
        scales = 3 * np.exp(-2 * parameters[1 : 1 + len(self.squares)])
        return np.asarray(np.sqrt(scales @ self.squares).reshape(self.plane.shape))

    def covariance(self, parameters: FloatArray, distance: FloatArray | None = None) -> FloatArray:
        """Return the covariance of the heights."""
        d = self.distance(parameters) if distance is None else distance
        found = self.plane + np.exp(2 * parameters[0]) * (1 + d) * np.exp(-d)
        if len(self.alike):
            offsets = self.offset_variances(parameters) @ self.alike
            found += offsets.reshape(found.shape)
        return np.asarray(found)

    def offset_variances(self, parameters: FloatArray) -> FloatArray:
        """Return the variance of the offsets of each axis that has them."""
        return np.asarray(np.exp(2 * parameters[1 + len(self.squares) : -1]))


def _covariance(
    a: FloatArray, b: FloatArray, parameters: FloatArray, rows: tuple[int, ...]
) -> FloatArray:
    return _Pairs.of(a, b, rows).covariance(parameters)


def _own_variance(points: FloatArray, parameters: FloatArray, rows: tuple[int, ...]) -> FloatArray:
    plane = _FREE * (1 + (points**2).sum(axis=1))
    offsets = np.exp(2 * parameters[1 + points.shape[1] : -1]).sum() if rows else 0.0
    return np.asarray(plane + np.exp(2 * parameters[0]) + offsets)


def _factor(covariance: FloatArray, parameters: FloatArray) -> FloatArray:
    """Return the lower factor of the covariance of measured points."""
    noisy = covariance.copy()
    noisy.flat[:: len(noisy) + 1] += np.exp(2 * parameters[-1])
    # LAPACK itself: to begin, ``cholesky`` takes longer than it does for a few points.
    factor, failed = dpotrf(noisy, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the covariance of the measured points has no factor")
    return np.asarray(factor)


def _cost(parameters: FloatArray, pairs: _Pairs, values: FloatArray) -> tuple[float, FloatArray]:
    """Return minus the logarithm of the marginal likelihood, and its gradient."""
    distance = pairs.distance(parameters)
    factor = _factor(pairs.covariance(parameters, distance), parameters)
    weights, _ = dpotrs(factor, values, lower=1)
    cost = 0.5 * float(values @ weights) + float(np.log(factor.diagonal()).sum())
    # Only the lower half is made; the other half is the same.
    half, _ = dpotri(factor, lower=1)
    inverse = half + half.T
    inverse.flat[:: len(inverse) + 1] /= 2
    inner = np.outer(weights, weights) - inverse
    strong = inner * (np.exp(2 * parameters[0]) * np.exp(-distance))
    # With d the distance times the root of 3: of s^2 (1 + d) exp(-d) by the logarithm of s, and of
    # a length, of which the axis contributes its scaled square.
    scales = np.exp(-2 * parameters[1 : 1 + len(pairs.squares)])
    slopes = np.concatenate(
        (
            [2 * float(np.vdot(strong, 1 + distance))],
            3 * scales * (pairs.squares @ strong.reshape(-1)),
            2 * pairs.offset_variances(parameters) * (pairs.alike @ inner.reshape(-1)),
            [2 * np.exp(2 * parameters[-1]) * float(inner.trace())],
        )
    )
    return cost, -0.5 * slopes
