"""Whether rates were steady: the window, its band and its line of best fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fathom._digits import beside_limit
from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import choice_of
from fathom.stats import find_steadiness
from fathom.stats.snia import ROUND_LIMIT
from fathom.units import rate_words

if TYPE_CHECKING:
    from fathom.report.material import Material, Rounds

__all__ = ["steady_state"]

_CAPTION = (
    "Each point is the rate of one round. Rounds keep the SNIA's rule if, within the window "
    "(shaded), the greatest less the least rate is at most {range:g} % of the mean, and the line "
    "of best fit (dashed) rises or falls by at most {slope:g} % of it (SSS PTS 2.0.2, 2.1.24). The "
    "rule does not see what is slower than its window; our own test looks at all rounds. The thin "
    "lines lie half of the range above and below the mean; rates beyond them are no fault by "
    "themselves, as it is the whole range that counts."
)
_NANOS = 1e-12


def steady_state(material: Material) -> Figure | LeftOut | None:
    """Return the convergence of each series of rounds."""
    known = [(side, one) for side in material.sides for one in side.rounds]
    if not known:
        return None
    many = len(known) > 1
    choices = [
        choice_of(material, side.name, {"Rounds": one.name} if many else {}) for side, one in known
    ]
    columns = (
        *(Column(name) for name in choices[0]),
        Column("Round", digits=0),
        Column("IOPS", digits=3, is_significant=True),
        Column("In the window"),
    )
    rows = []
    for choice, (_, one) in zip(choices, known, strict=True):
        start, end, _ = _window(one)
        rows += [
            (*choice.values(), at + 1, value, "yes" if start <= at < end else "no")
            for at, value in enumerate(one.values)
        ]
    first = known[0][1]
    caption = _CAPTION.format(range=first.range_percent_limit, slope=first.slope_percent_limit)
    several = len(material.sides) > 1
    sentences = " ".join(
        dict.fromkeys(
            f"{side.name}: {_sentence(one)}" if several else _sentence(one) for side, one in known
        )
    )
    views = [View(_spec(one), choice) for choice, (_, one) in zip(choices, known, strict=True)]
    table = Table(columns, tuple(rows))
    return Figure("steady-state", "Steady state", f"{sentences} {caption}", views, table)


def _check(values: np.ndarray[Any, np.dtype[np.float64]]) -> tuple[float, float, float, float]:
    """Return mean, range and rise of a window, both in percent of the mean, and the slope."""
    mean = float(values.mean())
    slope = float(np.polyfit(np.arange(values.size), values, 1)[0]) if values.size > 1 else 0.0
    unit = abs(mean) or 1.0
    return mean, 100 * float(np.ptp(values)) / unit, 100 * slope * (values.size - 1) / unit, slope


def _window(rounds: Rounds) -> tuple[int, int, bool]:
    """Return the window's first round, the one behind its last, and whether it is steady."""
    # The specification's rule ends with its last round: what comes later is no window of it.
    values = np.array(rounds.values[:ROUND_LIMIT] if rounds.is_first else rounds.values)
    size = min(rounds.window, values.size)
    ends = range(size, values.size + 1) if rounds.is_first else [values.size]
    for end in ends:
        _, spread, rise, _ = _check(values[end - size : end])
        if (
            spread <= rounds.range_percent_limit + _NANOS
            and abs(rise) <= rounds.slope_percent_limit + _NANOS
        ):
            return end - size, end, True
    return values.size - size, values.size, False


def _sentence(rounds: Rounds) -> str:
    start, end, is_steady = _window(rounds)
    _, spread, rise, _ = _check(np.array(rounds.values[start:end]))
    state = "The SNIA's rule is kept" if is_steady else "The SNIA's rule is not kept"
    judged = find_steadiness(rounds.values)
    share = beside_limit(abs(rise), rounds.slope_percent_limit, 1)
    moved = f"{'+' if rise > 0 else '-'}{share}" if float(share) else share
    what = "" if rounds.step == "round" else f"; a round is one {rounds.step}"
    return (
        f"{state}: over rounds {start + 1} to {end} ({rounds.name}{what}) "
        f"the range was {beside_limit(spread, rounds.range_percent_limit, 1)} % of the mean, "
        f"and the fit moved by {moved} %. "
        f"All rounds: {judged.words}."
    )


def _spec(rounds: Rounds) -> dict[str, Any]:
    start, end, is_steady = _window(rounds)
    mean, _, _, slope = _check(np.array(rounds.values[start:end]))
    half = rounds.range_percent_limit / 200
    low, high = mean * (1 - half), mean * (1 + half)
    middle = (end - start - 1) / 2
    fit = [
        {"round": at + 1, "fit": round(mean + slope * (at - start - middle), 3)}
        for at in (start, end - 1)
    ]
    rows = [
        {"round": at + 1, "iops": round(value, 3), "rate": rate_words(value)}
        for at, value in enumerate(rounds.values)
    ]
    lowest = min(*rounds.values, low)
    title = "Round" if rounds.step == "round" else f"Round: one {rounds.step}"
    x = {
        "field": "round",
        "type": "quantitative",
        "axis": style.whole_axis(title, range(1, len(rows) + 1)),
        "scale": {"domain": [0.5, len(rows) + 0.5], "nice": False},
    }
    from_zero = lowest < max(*rounds.values, high) / 2
    y = style.metric("iops", style.count_axis("IOPS"))
    y["scale"]["zero"] = from_zero
    colour = style.SERIES[2] if is_steady else style.SERIES[1]
    place = {"x": {**x, "field": "from"}, "x2": {"field": "to"}}
    band = {"values": [{"from": start + 0.5, "to": end + 0.5, "low": low, "high": high}]}

    def rule(field: str) -> dict[str, Any]:
        mark = {"type": "rule", "color": colour, "strokeWidth": 1}
        return {"data": band, "mark": mark, "encoding": {**place, "y": {**y, "field": field}}}

    return style.whole(
        style.sized(
            {
                "layer": [
                    {
                        "data": band,
                        "mark": {"type": "rect", "color": colour, "opacity": 0.14},
                        "encoding": place,
                    },
                    rule("low"),
                    rule("high"),
                    {
                        "data": {"values": fit},
                        "mark": {"type": "line", "color": colour, "strokeDash": [6, 4]},
                        "encoding": {"x": x, "y": {**y, "field": "fit"}},
                    },
                    {
                        "mark": {
                            "type": "line",
                            "color": style.SERIES[0],
                            "point": {"fill": style.SERIES[0], "size": 55},
                        },
                        "encoding": {
                            "x": x,
                            "y": y,
                            "tooltip": [
                                {"field": "round", "title": "round"},
                                {"field": "rate", "title": "IOPS"},
                            ],
                        },
                    },
                ]
            },
            260,
        ),
        rows,
    )
