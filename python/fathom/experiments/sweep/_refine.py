"""Which cells of a sweep to measure, and what the others must be.

First a third of the cells: some by chance, then those of which the surface through the others
knows least. Then every cell of which the surface is not sure. Then some by chance, of which it was
sure: if it was wrong, the search goes on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from fathom.stats import fit_surface

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats import Surface
    from fathom.stats.floats import FloatArray

__all__ = ["Check", "Learnt", "Refinement", "Value"]

# Fewer cells are measured, every one.
LEAST_FOR_SURFACE = 40
_DESIGN_SHARE = 1 / 3
_CHANCE_SHARE = 0.4
_BATCH = 10
_CHECKS = 10
_CHECKS_WRONG = 1
# Two-sided, 95 %.
_DEVIATIONS = 1.96
# What the surface says of itself is corrected by what held-out points say, but not below this.
_LEAST_SCALE = 1.0
_MOST_SCALE = 5.0
_LEAST_DEVIATION = 1e-4
# A measured cell so many deviations off what the others say is broken by itself, if few are.
_APART = 6.0
# In deviations of the sum of squares by which an axis is taken for uneven.
_UNEVEN = 2.0
_APART_SHARE = 0.02
# Fewer values of an axis make no row of offsets.
_LEAST_VALUES = 3
# How many cells beyond the design a surface needs at most times, for the time that is left.
_EXPECTED_MORE = 1.12


@dataclass(frozen=True)
class Value:
    """A logarithm of a rate, and the standard deviation of its error."""

    height: float
    deviation: float


@dataclass
class Check:
    """How many cells were measured that seemed known, and how many were as expected."""

    measured: int = 0
    within: int = 0

    @property
    def most_beyond(self) -> float | None:
        """The greatest share that may not be as expected, at 95 % (Clopper & Pearson 1934)."""
        if not self.measured:
            return None
        beyond = self.measured - self.within
        return float(betaincinv(beyond + 1, self.within, 0.95)) if self.within else 1.0


@dataclass(frozen=True)
class Learnt:
    """What a slice knows of its surface besides the measured cells: a resumed sweep needs it.

    Attributes
    ----------
    check_scores
        How far each checked cell was from what was said of it, in standard deviations.
    uneven_axes
        The axes whose values have offsets of their own, by their column of the coordinates.

    """

    check_scores: tuple[float, ...] = ()
    uneven_axes: tuple[int, ...] = ()


def _is_uneven(values: FloatArray, scores: FloatArray) -> bool:
    """Whether cells with the same value lie off the surface together, as by chance they do not.

    Of scores that are independent, the squares of the sums of groups by their sizes are chi-square.
    """
    _, places = np.unique(values, return_inverse=True)
    counts = np.bincount(places)
    found = float((np.bincount(places, weights=scores) ** 2 / counts).sum())
    return found > counts.size + _UNEVEN * math.sqrt(2 * counts.size)


def _axes(features: FloatArray) -> tuple[int, ...]:
    """Return the axes whose values may have offsets: there is another axis to tell them from."""
    counts = [np.unique(column).size for column in features.T]
    axes = [axis for axis, count in enumerate(counts) if count >= _LEAST_VALUES]
    return tuple(axes) if len(axes) > 1 else ()


class Refinement:
    """Chooses the cells of one slice; whoever measures tells it what was found.

    Attributes
    ----------
    cells
        Those of the slice, in an order by chance.
    design
        How many cells are measured in any case.
    check
        All checks of cells that the surface was sure of, also those after which it went on.

    """

    def __init__(
        self, features: FloatArray, order: Sequence[int], tolerance: float, *, whole: bool
    ) -> None:
        """Work on cells with these coordinates.

        Parameters
        ----------
        features
            One row for each cell.
        order
            The cells in an order by chance.
        tolerance
            A cell need not be measured if its rate is known to within this share.
        whole
            Measure every cell.

        """
        self._features = features
        self.cells = list(order)
        self._tolerance = math.log1p(tolerance)
        small = len(order) < LEAST_FOR_SURFACE or not features.shape[1]
        self._whole = whole or small
        self.design = math.ceil(len(order) * (1 if self._whole else _DESIGN_SHARE))
        self._axes = _axes(features[self.cells])
        self._rows: tuple[int, ...] = ()
        self._surface: Surface | None = None
        self._scale = 1.0
        self._check_scores: list[float] = []
        self._expected: dict[int, Value] = {}
        self.check = Check()
        self._checked = False

    @property
    def learnt(self) -> Learnt:
        """What it knows besides the measured cells."""
        return Learnt(tuple(self._check_scores), self._rows)

    def recall(self, learnt: Learnt) -> None:
        """Take up what one of the same slice had learnt."""
        self._check_scores = list(learnt.check_scores)
        self._rows = learnt.uneven_axes

    def expected_count(self, done: int) -> float:
        """Return how many cells will have been measured in the end, as far as one can tell."""
        if self._whole:
            return len(self.cells)
        return min(max(self.design * _EXPECTED_MORE, done), len(self.cells))

    def next_cells(self, known: Mapping[int, float], failed: set[int]) -> list[int]:
        """Return which cells to measure next; none if the rest is known.

        ``known`` are the logarithms of what was measured.
        """
        rest = [cell for cell in self.cells if cell not in known and cell not in failed]
        tried = len(self.cells) - len(rest)
        chance = self.design if self._whole else math.ceil(self.design * _CHANCE_SHARE)
        if tried < chance or len(known) < _BATCH:
            return rest[: max(chance - tried, 1)]
        if self._whole or not rest:
            return []
        self.fit(known)
        if tried < self.design:
            return self._spread_out(rest, min(_BATCH, self.design - tried))
        self._judge_check(known)
        values = self.values(rest)
        doubtful = [cell for cell in rest if not self._is_sure(values[cell])]
        if doubtful:
            self._expected = {}
            return self._spread_out(doubtful, _BATCH)
        if self._checked:
            return []
        chosen = rest[:_CHECKS]
        self._expected = {cell: values[cell] for cell in chosen}
        return chosen

    def values(self, cells: Sequence[int]) -> dict[int, Value]:
        """Return what the surface says of cells; nothing where there is none."""
        if self._surface is None or not cells:
            return {}
        heights, deviations = self._surface.predict(self._features[cells])
        # A cell differs from the surface by what is no part of it, too.
        whole = np.hypot(deviations, self._surface.noise)
        pairs = zip(heights, whole * self._scale, strict=True)
        return {
            cell: Value(float(height), float(deviation))
            for cell, (height, deviation) in zip(cells, pairs, strict=True)
        }

    def _is_sure(self, value: Value) -> bool:
        return _DEVIATIONS * value.deviation <= self._tolerance

    def fit(self, known: Mapping[int, float]) -> None:
        """Lay the surface through what was measured."""
        self._surface, scores = self._fitted(known)
        apart = np.abs(scores) > _APART
        if 0 < apart.sum() <= max(1, int(_APART_SHARE * len(known))):
            # A cell that is broken by itself says nothing of the others.
            kept = dict(one for one, out in zip(known.items(), apart, strict=True) if not out)
            self._surface, scores = self._fitted(kept)
        self._scale = max(float(np.sqrt(np.mean(scores**2))), _LEAST_SCALE)
        if self._check_scores:
            # What the checks found counts, as those who passed were not the only ones.
            found = float(np.sqrt(np.mean(np.square(self._check_scores))))
            self._scale = max(self._scale, min(found, _MOST_SCALE))

    def _fitted(self, known: Mapping[int, float]) -> tuple[Surface, FloatArray]:
        """Return the surface through cells, and how far each lies from what the others say."""
        features, heights = self._features[list(known)], list(known.values())
        surface = self._surface_of(features, heights)
        scores = surface.held_out_scores()
        uneven = tuple(axis for axis in self._axes if _is_uneven(features[:, axis], scores))
        if not set(uneven) <= set(self._rows):
            self._rows = tuple(sorted({*self._rows, *uneven}))
            surface = self._surface_of(features, heights)
        return surface, surface.held_out_scores()

    def _surface_of(self, features: FloatArray, heights: list[float]) -> Surface:
        """Fit a surface, beginning where the last one of its kind was found."""
        last = self._surface
        start = None if last is None or last.rows != self._rows else last.parameters
        return fit_surface(features, heights, start=start, rows=self._rows)

    def _judge_check(self, known: Mapping[int, float]) -> None:
        if not self._expected:
            return
        checked = {cell: value for cell, value in self._expected.items() if cell in known}
        errors = [abs(known[cell] - value.height) for cell, value in checked.items()]
        within = sum(error <= self._tolerance for error in errors)
        self.check = Check(self.check.measured + len(errors), self.check.within + within)
        self._check_scores += [
            error / max(value.deviation / self._scale, _LEAST_DEVIATION)
            for error, value in zip(errors, checked.values(), strict=True)
        ]
        self._checked = len(errors) - within <= _CHECKS_WRONG
        self._expected = {}

    def _spread_out(self, cells: Sequence[int], most: int) -> list[int]:
        if self._surface is None:
            return list(cells[:most])
        chosen = self._surface.spread_out(self._features[list(cells)], most)
        return [cells[at] for at in chosen]
