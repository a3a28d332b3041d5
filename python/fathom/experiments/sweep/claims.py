"""What a sweep says, as claims: the terminal, the page and JSON show these and no others."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from fathom._claims import Claim, ToldRuns
from fathom._tails import tails_words
from fathom.experiments.axes import SMOOTH
from fathom.experiments.ending import ended_words
from fathom.experiments.told_runs import told_runs
from fathom.metrics import RATES
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._claims import Evidence
    from fathom.experiments.sweep.result import CellOutcome, Sweep, SweepOutcome
    from fathom.store import Store

__all__ = ["sweep_claims", "told_sweep"]

_Rate = Literal["iops", "mib_per_s"]
_KNOWN_RATES = "their rates are known as far as +/- % says, at 95 % or more"
_SOURCES = ("measured", "interpolated", "failed", "pending")
_TAIL = "latency_p99_ns"


def told_sweep(store: Store, found: Sweep) -> Sweep:
    """Return a sweep with what it says, and with the marks of its cells."""
    plain = cast("SweepOutcome", asdict(found))
    every = plain["cells"]
    best = [one for name in get_args(_Rate) if (one := _greatest(every, name))]
    first = [one.get("run_id") for cell in best for one in _rests_on(cell, every)]
    told = told_runs(store, [*first, *(cell.run_id for cell in found.cells)])
    cells = [
        replace(cell, findings=told.by_id[cell.run_id].rules)
        if cell.run_id is not None and cell.run_id in told.by_id
        else cell
        for cell in found.cells
    ]
    return replace(found, cells=cells, claims=sweep_claims(plain, told), doubts=told.legend())


def sweep_claims(outcome: SweepOutcome, told: ToldRuns) -> list[Claim]:
    """Return the claims of a sweep's outcome, the headline first."""
    cells = outcome.get("cells") or ()
    most = _greatest(cells, "iops")
    if most is None:
        return [Claim("headline", "No cell of the sweep was measured.")]
    words = f"At most {most['iops']:,.0f} IOPS ({_label(most, cells, told)})"
    claims = [told.headline(words, words, _evidence(told, _rests_on(most, cells), "iops"))]
    widest = _greatest(cells, "mib_per_s")
    if widest is not None:
        label = _label(widest, cells, told)
        text = f"The greatest throughput is {widest['mib_per_s']:,.2f} MiB/s ({label})."
        rests = _rests_on(widest, cells)
        claims.append(told.claim("throughput", text, _evidence(told, rests, "mib_per_s")))
    counts = [(sum(one["source"] == source for one in cells), source) for source in _SOURCES]
    parts = ", ".join(f"{count} {source}" for count, source in counts if count)
    claims.append(Claim("cells", f"{counted(len(cells), 'cell')}: {parts}."))
    if outcome.get("ended_by"):
        untried = sum(one["source"] == "pending" for one in cells)
        number = outcome.get("experiment_id")
        text = ended_words("sweep", f"{outcome['ended_by']}", number, untried)
        claims.insert(1, Claim("ended", text))
    claims += [Claim(key, text) for key, text in _interpolation(outcome, cells) if text]
    return claims


def _greatest(cells: Sequence[CellOutcome], name: _Rate) -> CellOutcome | None:
    """Return the cell with the most; of those that are alike, one that was measured."""
    known = [one for one in cells if one.get(name) is not None]
    return max(known, key=lambda one: (one[name], one["source"] == "measured"), default=None)


def _rests_on(cell: CellOutcome, cells: Sequence[CellOutcome]) -> list[CellOutcome]:
    """Return the measured cells on which the figures of a cell rest.

    It is the cell itself, or, if it was interpolated, all of its slice: the surface goes through
    them.
    """
    if cell["source"] == "measured":
        return [cell]
    mine = _names(cell)
    return [one for one in cells if one["source"] == "measured" and _names(one) == mine]


def _names(cell: CellOutcome) -> dict[str, str]:
    """Return the values of the axes that have no course, by which cells are of one slice."""
    return {name: value for name, value in cell["parameters"].items() if name not in SMOOTH}


def _label(cell: CellOutcome, cells: Sequence[CellOutcome], told: ToldRuns) -> str:
    """Return the load of a cell: what was varied, and what else all its runs tell of it."""
    varied = cell["parameters"]
    rests = [(one, told.by_id.get(one.get("run_id") or 0)) for one in _rests_on(cell, cells)]
    known = [(one["parameters"], run) for one, run in rests if run is not None]
    runs = [run for _, run in known]
    # Elsewhere, threads are those of all targets together, and so is the depth of a thread.
    is_apart = {
        "threads": any(one.get("threads") not in (None, str(run.threads)) for one, run in known),
        "depth": any(one.get("depth") not in (None, str(run.depth)) for one, run in known),
    }
    words = [
        f"{name} {value}{' per target' * is_apart.get(name, False)}"
        for name, value in varied.items()
    ]
    others = {
        "threads": {f"threads {run.threads}" for run in runs},
        "depth": {f"depth {run.depth}" for run in runs},
        "caching": {run.caching for run in runs},
    }
    for name, said in others.items():
        if name not in varied and len(said) == 1:
            words += [one for one in said if one]
    label = ", ".join(words)
    return label if cell["source"] == "measured" else f"{label}; interpolated"


def _evidence(told: ToldRuns, cells: Sequence[CellOutcome], name: _Rate) -> list[Evidence]:
    """Return the figure of each run on which a claim rests."""
    return [
        told.evidence(one.get("run_id"), name, value, RATES[name])
        for one in cells
        if (value := one.get(name)) is not None
    ]


def _interpolation(outcome: SweepOutcome, cells: Sequence[CellOutcome]) -> list[tuple[str, str]]:
    interpolated = [one for one in cells if one["source"] == "interpolated"]
    wide = sum(one.get("is_precise") is False for one in cells)
    return [
        ("interpolated", _interpolated_words(interpolated) if interpolated else ""),
        ("checked", _checked_words(outcome) if outcome.get("checked") else ""),
        ("probed", _probed_words(outcome) if outcome.get("probed") else ""),
        ("unprobed", _unprobed_words(outcome["unprobed"]) if outcome.get("unprobed") else ""),
        ("precision", _wide_words(wide) if wide else ""),
        ("tails", tails_words(_latency_ios(cells))),
    ]


def _latency_ios(cells: Sequence[CellOutcome]) -> list[float | None]:
    """Return the I/Os of the latencies of each cell that was measured."""
    return [figures.get("latency_ios") for one in cells if (figures := one.get("figures"))]


def _checked_words(outcome: SweepOutcome) -> str:
    words = (
        f"Of {counted(outcome['checked'], 'cell')} that could have been interpolated and were "
        "measured to "
        f"check, {outcome['within']} lay within the tolerance"
    )
    beyond = outcome.get("most_beyond")
    if beyond is None:
        return f"{words}."
    return (
        f"{words}: of those that are interpolated at most {100 * beyond:.0f} % lie beyond it "
        "(95 %)."
    )


def _probed_words(outcome: SweepOutcome) -> str:
    apart = outcome["stood_apart"]
    return (
        f"{outcome['probed']} of the others got a short look, which finds a cell that is slow or "
        f"fast by itself: {_apart_words(apart)}."
    )


def _apart_words(count: int) -> str:
    if not count:
        return "none stood apart"
    return f"{count} stood apart and {'was' if count == 1 else 'were'} measured"


def _unprobed_words(count: int) -> str:
    return (
        f"No short look tells whether {counted(count, 'interpolated cell')} "
        f"{'is' if count == 1 else 'are'} slow or fast by "
        f"{'itself' if count == 1 else 'themselves'}: --tolerance 0 measures every cell."
    )


def _wide_words(count: int) -> str:
    return (
        f"{counted(count, 'measured cell')} {'is' if count == 1 else 'are'} not as precise as "
        "requested (marked ~): allow more time "
        "(--longest)."
    )


def _interpolated_words(interpolated: Sequence[CellOutcome]) -> str:
    """Say what the figures of cells that were not measured are worth."""
    latencies = [
        estimated[_TAIL]
        for one in interpolated
        if (estimated := one.get("estimated_latency")) and _TAIL in estimated
    ]
    if not latencies:
        return f"Interpolated cells were not measured: they have no latencies, and {_KNOWN_RATES}."
    widths = sorted(one["high_ns"] / one["value_ns"] - 1 for one in latencies)
    return (
        f"Interpolated cells were not measured: {_KNOWN_RATES}; their latencies "
        "(\N{ALMOST EQUAL TO}) are estimates by what was measured around them, p99 "
        f"to within {100 * widths[len(widths) // 2]:.0f} % at the median, "
        f"{100 * widths[-1]:.0f} % at most (95 %)."
    )
