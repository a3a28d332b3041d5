"""Claims of sweeps, tunings and comparisons: computed again from the store, and told once."""

from __future__ import annotations

import ast
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom._claims import MARKS
from fathom.cli.views.comparison import show_comparison
from fathom.cli.views.sweep import show_sweep
from fathom.cli.views.tune import show_tune
from fathom.experiments.axes import parse_axes
from fathom.experiments.compare.interleaved import TurnsPlan, compare_interleaved
from fathom.experiments.compare.saved import compare_runs
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.report.collect.gather import gather
from fathom.report.render.markdown import markdown
from fathom.runners import stored_figures
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom._claims import Claim
    from fathom.experiments.compare.interleaved import TurnsComparison
    from fathom.experiments.sweep.result import Sweep
    from fathom.experiments.tune.result import Tuning

GIB = 1 << 30
CLEAN = Truth(servers=16, read_us=100.0, noise=0.01)
NO_DEVICE = replace(CLEAN, doubts=(("not_the_device", "Of 9,000 reads, 7 reached vda."),))
STALLED = replace(CLEAN, doubts=(("stalled", "Thread 0 waited 1.50 s for its I/Os."),))
FORBIDDEN = "something else than the device answered (certain)"
PACKAGE = Path(__file__).parents[2] / "python/fathom"


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def swept(store: Store, truth: Truth) -> Sweep:
    axes = parse_axes({"threads": "1,2", "depth": "1,4,16"}, [])
    plan, _forecast = plan_sweep(["-b4K", "-r", "-L", "-D100", "x"], axes, tolerance=0.0)
    return sweep(store, SimulatedStorage(store, {"": truth}, size_bytes=64 * GIB), plan)


def tuned(store: Store, truth: Truth) -> Tuning:
    plan = plan_tune(["-b4K", "-r", "-L", "-D100", "x"], "1..2", "1..32")
    return tune(store, SimulatedStorage(store, {"": truth}, size_bytes=64 * GIB), plan)


def compared(store: Store, a: Truth, b: Truth) -> TurnsComparison:
    arguments = ("-b4K", "-r", "-L", "-D100", "-d3", "-W0")
    plan = TurnsPlan((*arguments, "-o1", "a"), (*arguments, "-o1", "b"), pilot=4, most=6)
    runner = SimulatedStorage(store, {"a": a, "b": b}, size_bytes=64 * GIB)
    return compare_interleaved(store, runner, plan)


def told(found: Sweep | Tuning | TurnsComparison) -> Sequence[Claim]:
    if hasattr(found, "claims"):
        return found.claims
    assert found.comparison is not None
    return found.comparison.claims


def made(store: Store, verb: str, truth: Truth) -> Sweep | Tuning | TurnsComparison:
    if verb == "compare":
        return compared(store, truth, truth)
    return (swept if verb == "sweep" else tuned)(store, truth)


VERBS = ("sweep", "tune", "compare")


@pytest.mark.parametrize("verb", VERBS)
def test_a_disqualifying_finding_changes_the_headline(verb: str, store: Store) -> None:
    headline = told(made(store, verb, NO_DEVICE))[0]
    assert headline.text.startswith(("No verdict on a device", "No comparison of devices"))
    assert FORBIDDEN in headline.text
    assert "not-the-device" in headline.forbidden_by
    assert not headline.text.startswith(("At most", "Best", "B against A"))
    assert not headline.text.endswith((": better.", ": worse.", ": equal."))


@pytest.mark.parametrize("verb", VERBS)
def test_a_weakening_finding_stands_behind_the_headline(verb: str, store: Store) -> None:
    headline = told(made(store, verb, STALLED))[0]
    assert "; but the target stalled (certain)" in headline.text
    assert headline.weakened_by == ("stalled",)
    assert not headline.forbidden_by


@pytest.mark.parametrize("verb", VERBS)
def test_a_clean_headline_has_no_reservation(verb: str, store: Store) -> None:
    claims = told(made(store, verb, CLEAN))
    assert "but" not in claims[0].text
    assert not any(one.forbidden_by or one.weakened_by for one in claims)


@pytest.mark.parametrize("verb", VERBS)
def test_evidence_can_be_computed_again_from_the_store(verb: str, store: Store) -> None:
    claims = told(made(store, verb, CLEAN))
    figures = [one for claim in claims for one in claim.evidence]
    assert claims[0].evidence
    for one in figures:
        assert one.run_id is not None
        run = store.runs.get(one.run_id)
        if verb == "compare":
            value = run.summary.columns[one.name]
        else:
            value = getattr(stored_figures(run.result), one.name)
        assert value == pytest.approx(one.value)
        assert one.depth == run.summary.columns["outstanding_per_thread"]
        assert one.threads == run.summary.columns["thread_count"]
        assert one.caching == "cached"


@pytest.mark.parametrize("verb", VERBS)
def test_terminal_page_and_markdown_have_the_same_sentences(
    verb: str, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    found = made(store, verb, NO_DEVICE)
    shown = {"sweep": show_sweep, "tune": show_tune}
    if verb == "compare":
        assert found.comparison is not None  # type: ignore[union-attr]
        show_comparison(found.comparison)  # type: ignore[union-attr]
    else:
        shown[verb](found)  # type: ignore[operator]
    terminal = " ".join(capsys.readouterr().out.split())
    material = gather(store, [f"e{found.experiment_id}"])
    sides = [side.verdict for side in material.sides if side.verdict]
    page = [one for side in sides for one in (side.headline, *side.sentences)]
    outcome = store.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    for claim in told(found):
        if claim.key.startswith("change-"):
            continue
        assert " ".join(claim.text.split()) in terminal
        assert claim.text in page
        assert claim.text in [one["text"] for one in outcome["claims"]]
    assert FORBIDDEN in markdown(material)
    assert f"[{MARKS['not-the-device']}] Something else than the device answered" in terminal


def test_one_side_without_a_device_is_named(store: Store) -> None:
    found = compared(store, CLEAN, NO_DEVICE)
    headline = told(found)[0].text
    assert f"these are not their numbers: B: {FORBIDDEN}" in headline
    a, b = ([ids[0] for ids in (found.a_run_ids, found.b_run_ids)][at] for at in (0, 1))
    again = compare_runs(store, f"{a},{found.a_run_ids[1]}", f"{b},{found.b_run_ids[1]}")
    assert f"B: {FORBIDDEN}" in again.claims[0].text
    references = [f"{a},{found.a_run_ids[1]}", f"{b},{found.b_run_ids[1]}"]
    assert f"B: {FORBIDDEN}" in gather(store, references).told[0]


def test_rows_of_runs_that_a_finding_touches_have_its_letter(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the table stood a title alone, and nowhere what had been seen."""
    found = swept(store, STALLED)
    show_sweep(found)
    text = capsys.readouterr().out
    assert text.count(f"[{MARKS['stalled']}]") == 6 + 1
    (stalled,) = [one for one in found.doubts if one.rule == "stalled"]
    assert stalled.evidence
    assert f"[{MARKS['stalled']}] The target stalled (certain): {stalled.evidence}\n" in text


@pytest.mark.parametrize("verb", ["sweep", "tune", "compare"])
def test_each_letter_of_a_table_has_its_sentence_below_it(
    store: Store, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    found = made(store, verb, NO_DEVICE)
    if verb == "compare":
        assert found.comparison is not None  # type: ignore[union-attr]
        show_comparison(found.comparison)  # type: ignore[union-attr]
    else:
        {"sweep": show_sweep, "tune": show_tune}[verb](found)  # type: ignore[operator]
    lines = capsys.readouterr().out.splitlines()
    (line,) = [one for one in lines if one.startswith(f"[{MARKS['not-the-device']}] ")]
    title, _, sentence = line.partition(" (certain): ")
    assert title.endswith("Something else than the device answered")
    assert sentence.endswith(".")


def test_a_tuning_s_page_has_the_figures_of_the_tuning(store: Store) -> None:
    """It told 60,494 IOPS, and its page 65.4k: that of one of the runs of that load."""
    found = tuned(store, replace(CLEAN, noise=0.05, drift=0.01))
    (side,) = gather(store, [f"e{found.experiment_id}"]).sides
    assert side.verdict is not None
    assert f"{found.iops:,.0f} IOPS" in side.verdict.headline
    numbers = {one.label: one for one in side.numbers}
    assert numbers["IOPS"].value == found.iops
    load = {"threads": str(found.threads), "depth": str(found.depth)}
    (cell,) = [one for one in side.grid if one.parameters == load]
    assert cell.point is not None
    assert cell.point.iops == found.iops
    assert cell.point.mean_ns == found.latency_ns
    assert found.confirmation is not None
    assert all(one in " ".join(side.verdict.sentences) for one in found.confirmation.evidence)


# Where claims are made; everything else shows them.
MAKERS = {
    "experiments/assess/verdict.py",
    "experiments/assess/side_by_side.py",
    "experiments/compare/claims.py",
    "experiments/repeat_claims.py",
    "experiments/sweep/claims.py",
    "experiments/tune/claims.py",
    # What becomes the evidence and the reasons of a tuning's claims, and of repetitions.
    "experiments/tune/_confirm.py",
    "experiments/tune/_reasons.py",
    "experiments/compare/_of_imported.py",
    # What the SNIA's rule says of repetitions and of rounds.
    "experiments/figure_words.py",
    "experiments/steady_words.py",
}
SHOWN = ("cli", "report", "experiments")
UNITS = (" IOPS", " MiB/s", " us", " µs", "times the", " % (")
# Plans and forecasts, one run's own line, and what preparing wrote: no conclusion of measurements.
OTHERS = {
    "cli/commands/_foresight.py",
    "cli/views/prepare.py",
    "cli/views/stop.py",
    "cli/views/sweep.py",
    "cli/views/tune.py",
    "report/collect/_prepare.py",
    "report/collect/_runs.py",
    # Labels within pictures and cells of tables.
    "report/figures/_shared_loads.py",
    "report/figures/workloads.py",
    "report/figures/load_curve.py",
}


def sentences_of_figures(path: Path) -> list[str]:
    """Return the sentences of a file that put a computed number before a unit."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.JoinedStr):
            continue
        words = "".join(
            str(one.value) if isinstance(one, ast.Constant) else "\0" for one in node.values
        )
        is_sentence = len(words.split()) > 4
        if is_sentence and any(f"\0{unit}" in words for unit in UNITS):
            found.append(words.replace("\0", "{}"))
    return found


def test_sentences_of_figures_are_made_where_claims_are() -> None:
    elsewhere = {
        str(path.relative_to(PACKAGE)): sentences_of_figures(path)
        for folder in SHOWN
        for path in (PACKAGE / folder).rglob("*.py")
    }
    known = MAKERS | OTHERS
    assert {name: told for name, told in elsewhere.items() if told and name not in known} == {}
    # The search finds what it looks for where it is.
    assert sentences_of_figures(PACKAGE / "experiments/assess/verdict.py")
    assert sentences_of_figures(PACKAGE / "experiments/sweep/claims.py")
