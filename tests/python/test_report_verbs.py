"""Reports of interleaved comparisons and of preparations: useful, with the store's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom._digits import change_figures
from fathom.experiments.axes import parse_axes
from fathom.experiments.compare.interleaved import (
    TurnsPlan,
    compare_interleaved,
    compared_interleaved,
)
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.report import gather, html_page, markdown
from fathom.report.collect._again import again
from fathom.report.collect._prepare import _slowest
from fathom.report.material import WrittenPiece
from fathom.store import Store
from fathom.web.state import Served
from reported import MIB, called, column, figures, saved_comparison, saved_preparations
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_a_comparison_shows_both_sides_and_what_changed(kept: Store) -> None:
    experiment_id = saved_comparison(kept)
    material = gather(kept, [f"e{experiment_id}"])
    a, b = material.sides
    assert (a.name, b.name) == ("A: old.dat", "B: new.dat")
    found = compared_interleaved(kept, experiment_id)
    assert [[run.run_id for run in side.runs] for side in (a, b)] == [
        found.a_run_ids,
        found.b_run_ids,
    ]
    assert found.comparison is not None
    changes = figures(material)["changes"]
    known = found.comparison.metrics
    # With the digits that the interval allows.
    shown = [
        change_figures(100 * one.change, 100 * one.low, 100 * one.high)[0] for one in known.values()
    ]
    assert column(changes, "Change") == shown
    assert column(changes, "Verdict")[0] == "better"
    assert a.verdict is not None
    assert a.verdict.headline.startswith("B against A, IOPS: +2")
    assert a.numbers[0].value == known["iops"].a_mean
    assert a.numbers[0].label == "IOPS"
    assert b.numbers[0].value == known["iops"].b_mean
    assert a.commands[0].startswith(
        "fathom compare --run '-b4K -r -Su -o8 -d2 -W0 -L -D100 old.dat'"
    )
    # Its runs are repetitions, with all that these have.
    assert {"box-plots", "latency-distribution", "time-series"} <= set(figures(material))


def test_a_list_of_many_runs_was_taken_for_a_file_whose_name_is_too_long(kept: Store) -> None:
    """A name has at most 255 bytes, and 92 numbers have more."""
    result = fabricated(rates=1000.0, latency_ns=100.0, depth=8)
    numbers = [kept.runs.save(result, ["-o8", "x.dat"]) for _ in range(95)]
    words = ",".join(map(str, numbers))
    assert len(words) > 255
    (side,) = gather(kept, [words]).sides
    assert len(side.runs) == len(numbers)
    assert len(gather(kept, [words, "1"]).sides) == 2
    assert Served.reference(words) == words


def test_a_comparison_that_ended_early_says_so(kept: Store) -> None:
    device = SimulatedStorage(kept, fails_at=4)
    plan = TurnsPlan(("-d1", "-W0", "a"), ("-d1", "-W0", "b"), pilot=8, most=8, seed=1)
    compare_interleaved(kept, device, plan)
    material = gather(kept, ["e1"])
    assert material.sides[0].notes[0].endswith("the disk is gone")
    page = html_page(material)
    assert "too few to compare" in page
    assert "the disk is gone" in page


def test_an_import_with_a_table_of_percentiles_has_its_curve(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(__file__).parent / "data/import/diskspd-2.0.21.txt"
    monkeypatch.setenv("FATHOM_STORE", kept.name)
    assert called(monkeypatch, "import", str(source)) == 0
    shown = figures(gather(kept, ["1"]))["latency-distribution"]
    # The digits of the document, in milliseconds.
    told = {"I/Os": ["reads", "writes"], "50 %": [0.232, 1.833], "99 %": [0.877, 6.107],
            "99.9 %": [1.608, 8.378], "max": [7.990, 35.257]}  # fmt: skip
    assert {name: column(shown, name) for name in told} == told
    # So few I/Os tell nothing of nine nines, though the document has a line of them.
    assert column(shown, "99.9999999 %") == [None, None]
    points = [row["ns"] for row in shown.spec["data"]["values"] if row["series"] == "writes"]
    assert points == [1_209_000, 1_607_000, 1_833_000, 6_107_000, 8_378_000, 35_257_000]
    assert "only the points are known" in shown.caption


def saved_cells(kept: Store, ranges: dict[str, str]) -> tuple[int, dict[int, dict[str, Any]]]:
    """Sweep simulated storage with all runs kept; return the experiment and its cells by run."""
    plan, _ = plan_sweep(["-r", "-Su", "-L", "x.dat"], parse_axes(ranges), seed=5)
    found = sweep(kept, SimulatedStorage(kept, {"": Truth(noise=0.01)}), plan)
    outcome = kept.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    return found.experiment_id, {one["run_id"]: one for one in outcome["cells"] if one["run_id"]}


def test_a_sweep_of_few_cells_has_the_latencies_of_each(kept: Store) -> None:
    experiment_id, cells = saved_cells(kept, {"block": "4K,64K", "depth": "1..8"})
    material = gather(kept, [f"e{experiment_id}"])
    shown = figures(material)["latency-distribution"]
    known = [kept.runs.get(run_id).result.total.latency for run_id in cells]
    quantiles = [one.quantile_ns(0.99) / 1e6 for one in known if one is not None]
    assert column(shown, "99 %") == quantiles
    assert column(shown, "Run")[0] == "block 4K, depth 1"
    # And the map names the run of each cell, for a report of that alone.
    assert column(figures(material)["heat-map"], "Run") == [str(run_id) for run_id in cells]
    assert material.sides[0].is_judged
    assert "workloads" not in figures(material)


def test_a_sweep_of_many_cells_has_the_latencies_of_the_notable_ones(kept: Store) -> None:
    ranges = {"block": "4K,8K,16K,64K", "threads": "1,2", "depth": "1..32"}
    experiment_id, cells = saved_cells(kept, ranges)
    assert len(cells) > 24
    (side,) = gather(kept, [f"e{experiment_id}"]).sides
    shown = {run.run_id for run in side.runs}
    assert 1 < len(shown) <= 6
    rates = {run_id: one["iops"] for run_id, one in cells.items()}
    assert any(rates[one] == max(rates.values()) for one in shown if one is not None)
    # Findings are looked for in all of them (defect 13).
    assert side.is_judged


def test_a_look_says_what_the_target_holds(kept: Store, tmp_path: Path) -> None:
    looked, _, _ = saved_preparations(kept, tmp_path)
    outcome = kept.experiments.get(looked).outcome
    assert outcome is not None
    material = gather(kept, [f"e{looked}"])
    (side,) = material.sides
    assert side.verdict is not None
    assert side.verdict.sentences == tuple(outcome["sentences"])
    holds = figures(material)["holds"]
    parts = dict(zip(column(holds, "Holds"), column(holds, "Size"), strict=True))
    assert parts["holes"] == outcome["layout"]["hole_bytes"] / (1 << 20) == 3
    assert parts["data"] == 1
    assert "None were looked for" not in html_page(material)


def test_filling_shows_the_rate_of_each_piece(kept: Store, tmp_path: Path) -> None:
    _, filled, _ = saved_preparations(kept, tmp_path)
    runs = [*reversed(kept.runs.list(experiment_id=filled))]
    material = gather(kept, [f"e{filled}"])
    writing = figures(material)["writing"]
    assert column(writing, "MiB/s") == [run.columns["total_mib_per_s"] for run in runs]
    assert column(writing, "Run") == [str(run.id) for run in runs]
    assert sum(column(writing, "Written")) == 4  # type: ignore[arg-type]
    assert material.sides[0].numbers[0].text == "4 MiB"
    assert "Read back it compresses 1.00 to 1" in markdown(material)


def test_the_slowest_piece_was_the_last_512_bytes() -> None:
    """One I/O of 0.45 s: "Slowest piece 0.00109 MiB/s" of a target that took 192 MiB at 37."""
    whole = [WrittenPiece(0, 96 * MIB, 40.0, 1), WrittenPiece(96 * MIB, 96 * MIB, 30.0, 2)]
    rest = WrittenPiece(192 * MIB, 512, 0.00109, 3)
    assert _slowest([*whole, rest]) == 30.0
    assert _slowest([rest]) == 0.00109
    assert _slowest([]) is None


def test_rounds_show_the_window_in_which_they_were_steady(kept: Store, tmp_path: Path) -> None:
    _, _, rounds = saved_preparations(kept, tmp_path)
    outcome = kept.experiments.get(rounds).outcome
    assert outcome is not None
    material = gather(kept, [f"e{rounds}"])
    (side,) = material.sides
    assert side.verdict is not None
    rule = f"The SNIA's rule of steady state is kept in round {outcome['rounds']}."
    assert side.verdict.headline == rule
    assert "All rounds, iops: " in " ".join(side.verdict.sentences)
    steady = figures(material)["steady-state"]
    assert column(steady, "IOPS") == outcome["values"]["iops"]
    assert "box-plots" in figures(material)


def test_a_scale_is_repeated_by_the_fleet_that_measured_it(kept: Store) -> None:
    """Its report had the loads of single runs, and no command for all of it."""
    plan = {
        "arguments": ["-d7", "-b64K", "x.dat"],
        "counts": [1, 2],
        "runner": "fleet:10.0.0.1:7000?tls=certs&hosts=a%2Cb&overlap=yes",
    }
    experiment_id = kept.experiments.begin("scale", "scale", plan)
    for _ in range(2):
        kept.runs.save(fabricated(), ["-b64K", "x.dat"], experiment_id=experiment_id)
    kept.experiments.finish(experiment_id, "complete", outcome={"points": []})
    (side,) = gather(kept, [f"e{experiment_id}"]).sides
    assert side.commands[0] == (
        "fathom scale --duration 7 --fleet 10.0.0.1:7000 --tls certs --hosts a,b --overlap -b64K "
        "x.dat"
    )


def test_what_a_local_fleet_measured_is_repeated_with_it(kept: Store) -> None:
    """The command had ``--runner fleet:local:2``, which no command takes."""
    plan = {"arguments": ["-b64K", "x.dat"], "runner": "fleet:local:2"}
    experiment = kept.experiments.get(kept.experiments.begin("scale", "mine", plan))
    assert again(experiment) == "fathom scale --fleet local:2 --label mine -b64K x.dat"
