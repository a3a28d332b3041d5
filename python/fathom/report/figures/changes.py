"""What changed from one set of runs to another, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._digits import change_figures, drawn_change, measured_place, place_words
from fathom._p_values import p_text
from fathom.metrics import higher_is_better, unit_of
from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._marked import marked
from fathom.report.figures._shared_loads import shared_loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.figure import Cell
    from fathom.report.material import Change, Material

__all__ = ["changes"]

_CAPTION = (
    "The change of each figure from the first to the second, in percent, with the interval that "
    "holds the true change at 95 % confidence. Equal is what is shown to be within 3 %; where the "
    "runs show neither a difference nor that, it cannot be told."
)
_WORDS = {
    "iops": "IOPS",
    "mib_per_s": "Throughput",
    "mean": "Mean latency",
    "p50": "Median latency",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "Slowest I/O",
}
_COLOURS = {
    "better": style.SERIES[2],
    "worse": style.SERIES[1],
    "equal": style.SERIES[0],
    "cannot tell": style.SERIES[5],
}


def changes(material: Material) -> Figure | LeftOut | None:
    """Return the changes of a pair of sides; None if there is no pair."""
    if len(material.sides) != 2:  # noqa: PLR2004 - A pair.
        return None
    if shared_loads(material.sides):
        # Loads of different kinds have no mean; each is compared by itself.
        return None
    if not material.changes:
        why = "The two are not of the same load, or were not repeated from the store."
        return LeftOut("changes", "What changed", why)
    columns = (
        Column("Figure"),
        Column(f"A: {material.sides[0].name}", digits=3),
        Column(f"B: {material.sides[1].name}", digits=3),
        Column("Change", "%", 2),
        Column("From", "%", 2),
        Column("To", "%", 2),
        Column("p", digits=4),
        Column("Verdict"),
    )
    rows = tuple(_row(one) for one in material.changes)
    view = View(_spec(material.changes))
    caption = " ".join([_CAPTION, *material.differences])
    figure = Figure("changes", "What changed", caption, [view], Table(columns, rows))
    return marked(figure, [one.marks for one in material.changes], material.found_names)


def _row(one: Change) -> tuple[Cell, ...]:
    return (
        _WORDS.get(one.metric, one.metric) + _unit(one),
        _mean_words(one, one.a_mean),
        _mean_words(one, one.b_mean),
        *change_figures(one.percent, one.low_percent, one.high_percent),
        p_text(one.p_value),
        one.verdict,
    )


def _unit(change: Change) -> str:
    return {"ns": " [ms]", "MiB/s": " [MiB/s]"}.get(unit_of(change.metric), "")


def _divisor(change: Change) -> float:
    return 1.0 if higher_is_better(change.metric) else 1e6


def _mean_words(change: Change, mean: float) -> str:
    """Return the mean of a side with the digits that the change is known to."""
    shown = mean / _divisor(change)
    half = shown * (change.high_percent - change.low_percent) / 200
    return place_words(shown, measured_place(shown, half))


def _spec(found: Sequence[Change]) -> dict[str, Any]:
    ends = [drawn_change(one.percent, one.low_percent, one.high_percent) for one in found]
    rows = [
        {
            "name": one.metric,
            "words": f"{_WORDS.get(one.metric, one.metric)}: {one.verdict}\n{one.words}",
            "percent": round(one.percent, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "verdict": one.verdict,
        }
        for one, (low, high) in zip(found, ends, strict=True)
    ]
    y = style.row_axis()
    x = {
        "type": "quantitative",
        "axis": {"title": "Change, percent", "tickCount": 4},
        "scale": {"zero": True, "nice": True},
    }
    colour = {
        "field": "verdict",
        "type": "nominal",
        "scale": {"domain": list(_COLOURS), "range": list(_COLOURS.values())},
        "legend": style.legend(entry_width=180),
    }
    tooltip = [{"field": "words", "title": "change"}]
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"zero": 0}]},
            "mark": {"type": "rule", "color": style.TEXT},
            "encoding": {"x": {**x, "field": "zero"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 3, "yOffset": style.ROW_DOWN},
            "encoding": {
                "x": {**x, "field": "low"},
                "x2": {"field": "high"},
                "y": y,
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "size": 90, "yOffset": style.ROW_DOWN},
            "encoding": {
                "x": {**x, "field": "percent"},
                "y": y,
                "color": colour,
                "tooltip": tooltip,
            },
        },
        style.row_words(y),
    ]
    return style.rows(layers, rows)
