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

from fathom.stats import fit_surface

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats import Surface
    from fathom.stats._types import FloatArray

__all__ = ["Check", "Refinement", "Value"]

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
_LEAST_SCALE = 0.7
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


class Refinement:
    """Chooses the cells of one slice; whoever measures tells it what was found.

    Attributes
    ----------
    cells
        Those of the slice, in an order by chance.
    design
        How many cells are measured in any case.
    check
        The last check of cells that the surface was sure of.

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
        self._surface: Surface | None = None
        self._scale = 1.0
        self._expected: dict[int, Value] = {}
        self.check = Check()
        self._checked = False

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
        pairs = zip(heights, deviations * self._scale, strict=True)
        return {
            cell: Value(float(height), float(deviation))
            for cell, (height, deviation) in zip(cells, pairs, strict=True)
        }

    def _is_sure(self, value: Value) -> bool:
        return _DEVIATIONS * value.deviation <= self._tolerance

    def fit(self, known: Mapping[int, float]) -> None:
        """Lay the surface through what was measured."""
        cells = list(known)
        start = None if self._surface is None else self._surface.parameters
        heights = [known[cell] for cell in cells]
        self._surface = fit_surface(self._features[cells], heights, start=start)
        scores = self._surface.held_out_scores()
        self._scale = max(float(np.sqrt(np.mean(scores**2))), _LEAST_SCALE)

    def _judge_check(self, known: Mapping[int, float]) -> None:
        if not self._expected:
            return
        errors = [
            abs(known[cell] - value.height)
            for cell, value in self._expected.items()
            if cell in known
        ]
        within = sum(error <= self._tolerance for error in errors)
        self.check = Check(len(errors), within)
        self._checked = len(errors) - within <= _CHECKS_WRONG
        self._expected = {}

    def _spread_out(self, cells: Sequence[int], most: int) -> list[int]:
        if self._surface is None:
            return list(cells[:most])
        chosen = self._surface.spread_out(self._features[list(cells)], most)
        return [cells[at] for at in chosen]
