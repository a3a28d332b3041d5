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
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

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
    bounds = [_DEVIATION, *[_LENGTH] * places.shape[1], *[_OFFSET] * len(rows), _NOISE]
    lengths, offsets = [np.log(4.0)] * places.shape[1], [np.log(0.01)] * len(rows)
    first = [np.log(0.5), *lengths, *offsets, np.log(0.01)]
    found = minimize(
        _cost,
        first if start is None else start,
        args=(places, values, tuple(rows)),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 40},
    )
    parameters = np.asarray(found.x)
    factor = _factor(places, parameters, tuple(rows))
    weights = cho_solve((factor, True), values)
    return Surface(places, parameters, tuple(rows), mean, weights, factor)


def _scaled(a: FloatArray, b: FloatArray, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the squares of the scaled distances, axis by axis, and the scaled distances."""
    apart = (a[:, None, :] - b[None, :, :]) * np.exp(-parameters[1 : 1 + a.shape[1]])
    squares = apart**2
    return squares, np.sqrt(3 * squares.sum(axis=2))


def _offsets(
    a: FloatArray, b: FloatArray, parameters: FloatArray, rows: tuple[int, ...]
) -> list[FloatArray]:
    """Return for each axis with offsets what points with the same value have in common."""
    variances = np.exp(2 * parameters[1 + a.shape[1] : -1])
    return [
        variance * (a[:, None, axis] == b[None, :, axis])
        for axis, variance in zip(rows, variances, strict=True)
    ]


def _covariance(
    a: FloatArray, b: FloatArray, parameters: FloatArray, rows: tuple[int, ...]
) -> FloatArray:
    _, distance = _scaled(a, b, parameters)
    found = _FREE * (1 + a @ b.T)
    found += np.exp(2 * parameters[0]) * (1 + distance) * np.exp(-distance)
    for one in _offsets(a, b, parameters, rows):
        found += one
    return np.asarray(found)


def _own_variance(points: FloatArray, parameters: FloatArray, rows: tuple[int, ...]) -> FloatArray:
    plane = _FREE * (1 + (points**2).sum(axis=1))
    offsets = np.exp(2 * parameters[1 + points.shape[1] : -1]).sum() if rows else 0.0
    return np.asarray(plane + np.exp(2 * parameters[0]) + offsets)


def _factor(points: FloatArray, parameters: FloatArray, rows: tuple[int, ...]) -> FloatArray:
    noisy = _covariance(points, points, parameters, rows)
    noisy[np.diag_indices_from(noisy)] += np.exp(2 * parameters[-1])
    return np.asarray(cholesky(noisy, lower=True))


def _cost(
    parameters: FloatArray, points: FloatArray, values: FloatArray, rows: tuple[int, ...]
) -> tuple[float, FloatArray]:
    """Return minus the logarithm of the marginal likelihood, and its gradient."""
    factor = _factor(points, parameters, rows)
    weights = cho_solve((factor, True), values)
    cost = 0.5 * float(values @ weights) + float(np.log(np.diag(factor)).sum())
    inner = np.outer(weights, weights) - cho_solve((factor, True), np.eye(len(values)))
    squares, distance = _scaled(points, points, parameters)
    strength = np.exp(2 * parameters[0]) * np.exp(-distance)
    # With d the distance times the root of 3: of s^2 (1 + d) exp(-d) by the logarithm of s, and of
    # a length, of which the axis contributes its square.
    slopes = [np.sum(inner * 2 * strength * (1 + distance))]
    slopes += [
        np.sum(inner * 3 * strength * squares[:, :, axis]) for axis in range(points.shape[1])
    ]
    slopes += [np.sum(inner * 2 * one) for one in _offsets(points, points, parameters, rows)]
    slopes.append(2 * np.exp(2 * parameters[-1]) * np.trace(inner))
    return cost, -0.5 * np.array(slopes)
