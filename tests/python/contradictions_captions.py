"""Drawn sides of a report, and whether the captions of its figures are what its tables say."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from contradictions_drawn import drawn_figures, hold
from fathom.report.figure import Figure
from fathom.report.figures.same_loads import same_loads
from fathom.report.figures.steady_state import steady_state
from fathom.report.material import GridCell, Material, Point, Rounds, Side

if TYPE_CHECKING:
    import random

    from fathom.report.figure import Cell

__all__ = ["Captions"]

NONSENSE = re.compile(r"\bnan\b|\binf\b|\bNone\b", re.IGNORECASE)


@dataclass
class Captions:
    """Draws sides of a report, and judges what the captions of its figures say."""

    draw: random.Random

    def judge(self) -> None:
        """Hold the captions that have numbers against the tables beneath them."""
        self._judge_shared()
        self._judge_rounds()

    def _judge_shared(self) -> None:
        sides = [self._grid(name) for name in ("one", "other")]
        if self.draw.random() < 0.3:
            # Nearly the same on both sides.
            sides[1] = replace(sides[0], name="other", grid=tuple(map(self._near, sides[0].grid)))
        found = same_loads(Material("x", "x", tuple(sides), "now"))
        if found is None:
            return
        figure = as_figure(found)
        loads = {row[0] for row in figure.table.rows}
        for name, column in (("IOPS", "IOPS"), ("Mean latency", "Mean")):
            rows = [row for row in figure.table.rows if str(row[1]).startswith(column)]
            told = re.search(
                rf"{name} over (all )?(\d+)(?: of (\d+))? loads: (\S+) (%|times) on average, "
                r"(\S+) (%|times) to (\S+) (%|times) load by load",
                figure.caption,
            )
            hold((told is None) == (len(rows) < 3), figure.caption, len(rows))
            if told is None:
                continue
            hold(int(told[2]) == len(rows), figure.caption, len(rows))
            hold(bool(told[1]) == (len(rows) == len(loads)), figure.caption, len(loads))
            hold(told[3] is None or int(told[3]) == len(loads), figure.caption, len(loads))
            mean = math.exp(np.mean([math.log(number(row[3]) / number(row[2])) for row in rows]))
            ratios = [number(row[3]) / number(row[2]) for row in rows]
            for at, ratio in ((4, mean), (6, min(ratios)), (8, max(ratios))):
                judge_ratio(told[at], told[at + 1], ratio)
        for row in figure.table.rows:
            ratio = number(row[3]) / number(row[2])
            # What is ten times as much, or as little, is no percentage.
            if row[4] is None:
                hold(row[5] is None and row[6] is None, row)
                times, unit = str(row[7]).split()[:2]
                judge_ratio(times, unit, ratio)
                continue
            hold(row[7] is None, row)
            hold(0.1 < ratio < 10, row)
            hold(math.isclose(number(row[4]), 100 * (ratio - 1), rel_tol=1e-6, abs_tol=1e-6), row)
            if row[5] is not None:
                hold(number(row[5]) <= number(row[4]) <= number(row[6]), row)
        for view in figure.views:
            hold(not NONSENSE.search(str(view.spec).replace("None", "")), view.choice)

    def _grid(self, name: str) -> Side:
        depths = [2**at for at in range(self.draw.randint(1, 6)) if self.draw.random() < 0.9]
        return Side(name, "sweep", grid=tuple(map(self._cell, depths)), axes=("depth",))

    def _cell(self, depth: int) -> GridCell:
        figures = drawn_figures(self.draw, 4096)
        if self.draw.random() < 0.1:
            return GridCell({"depth": str(depth)}, "failed", None, "It failed.")
        half = figures.relative_half_width
        low, high = (None, None) if half is None or half >= 1 else (1 - half, 1 + half)
        point = Point(
            label=f"depth {depth}",
            threads=1,
            depth=depth,
            block_bytes=4096,
            write_percent=0,
            iops=self.draw.choice((figures.iops, figures.iops, figures.iops, 0.0)),
            mib_per_s=figures.mib_per_s,
            mean_ns=figures.latency_mean_ns,
            p50_ns=figures.latency_p50_ns,
            p99_ns=figures.latency_p99_ns,
        )
        return GridCell(
            {"depth": str(depth)},
            self.draw.choice(("measured", "interpolated")),
            point,
            iops_low=None if low is None else low * point.iops,
            iops_high=None if high is None else high * point.iops,
        )

    def _near(self, cell: GridCell) -> GridCell:
        if cell.point is None:
            return cell
        rate = cell.point.iops * self.draw.uniform(0.999, 1.001)
        return replace(cell, point=replace(cell.point, iops=rate), iops_low=None, iops_high=None)

    def _judge_rounds(self) -> None:
        rounds = self._rounds()
        side = Side("one", "repeat", rounds=(rounds,))
        found = steady_state(Material("x", "x", (side,), "now"))
        hold(found is not None, rounds)
        if found is None:
            return
        figure = as_figure(found)
        words = figure.caption
        hold(not NONSENSE.search(words), words)
        told = re.search(
            r"over rounds (\d+) to (\d+).*?range was (\S+) %.*?moved by (\S+) %", words
        )
        hold(told is not None, words)
        if told is None:
            return
        first, last = int(told[1]), int(told[2])
        inside = [row for row in figure.table.rows if row[-1] == "yes"]
        hold([inside[0][-3], inside[-1][-3], len(inside)] == [first, last, last - first + 1], words)
        values = np.array([number(row[-2]) for row in inside])
        hold(tuple(values) == rounds.values[first - 1 : last], words)
        mean = float(values.mean()) or 1.0
        spread = 100 * float(np.ptp(values)) / mean
        hold(abs(float(told[3]) - spread) <= 0.05 + 1e-9 * spread, words, spread)
        is_kept = float(told[3]) <= 20 and abs(float(told[4])) <= 10
        hold(("The SNIA's rule is kept" in words) == is_kept, words, spread)
        hold(("not kept" in words) == (not is_kept), words)
        takes = re.search(r"(\d+) rounds tell nothing, it takes (\d+)", words)
        hold(takes is None or int(takes[1]) < int(takes[2]), words)

    def _rounds(self) -> Rounds:
        count = self.draw.choice((5, 5, 6, 8, 12, 25))
        level = 10 ** self.draw.uniform(1, 6)
        kind = self.draw.choice(("noise", "noise", "edge", "trend", "nothing"))
        if kind == "nothing":
            return Rounds("IOPS", "run", (0.0,) * count)
        if kind == "edge":
            # A range that lies by a hair on one side of its limit.
            off = 0.2 + self.draw.choice((-1, 1)) * 10 ** self.draw.uniform(-8, -3)
            values = [level] * count
            # The mean of the five rounds of a window rises with it.
            values[count // 2] *= 1 + off / (1 - off / 5)
            return Rounds("IOPS", "run", tuple(values))
        wide = self.draw.uniform(0, 0.3)
        slope = self.draw.uniform(-0.05, 0.05) if kind == "trend" else 0.0
        values = [
            level * max(0.0, 1 + slope * at + self.draw.uniform(-wide, wide)) for at in range(count)
        ]
        return Rounds("IOPS", "run", tuple(values), is_first=self.draw.random() < 0.5)


def judge_ratio(told: str, unit: str, ratio: float) -> None:
    """Hold a change in words, in percent or in times, against the ratio."""
    if unit == "%":
        percent = 100 * (ratio - 1)
        hold(abs(float(told) - percent) <= 0.05 + 1e-6 * abs(percent), told, percent)
        return
    hold(unit == "times" and not 0.1 < ratio < 10, told, ratio)
    part = told.removeprefix("1/").replace(",", "")
    expected = 1 / ratio if told.startswith("1/") else ratio
    hold(math.isclose(float(part), expected, rel_tol=0.006), told, ratio)


def as_figure(found: object) -> Figure:
    """Return a figure that was not left out."""
    if not isinstance(found, Figure):
        raise TypeError(found)
    return found


def number(cell: Cell) -> float:
    """Return a cell of a table that is a number."""
    hold(isinstance(cell, int | float), cell)
    return float(cell or 0.0)
