"""What a comparison decided on a condition: the same in all forms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fathom.cli.exit_codes import EXIT_CANNOT_TELL, EXIT_WORSE
from fathom.experiments.compare._figures import ComparedFigures
from fathom.experiments.compare.gate import Verdict, parse_condition, verdict, verdict_words
from fathom.experiments.compare.interleaved import TurnsPlan, compare_interleaved
from fathom.report import gather, html_page, markdown
from fathom.stats import compare_means
from fathom.store import Store
from reported import called
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fathom.report.material import Material

CONDITION = "iops<-3%"
COMMON = ("-b4K", "-r", "-Su", "-o8", "-d2", "-W0", "-L", "-D100")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "store.sqlite"))
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def compared(store: Store, noise: float, read_us: float) -> str:
    """Compare devices of which B takes so long for a read, where A takes 100 us."""
    truths = {"old": Truth(noise=noise), "new": Truth(noise=noise, read_us=read_us)}
    plan = TurnsPlan(
        (*COMMON, "old.dat"),
        (*COMMON, "new.dat"),
        conditions=(CONDITION,),
        pilot=8,
        most=8,
        seed=1,
    )
    return f"e{compare_interleaved(store, SimulatedStorage(store, truths), plan).experiment_id}"


def said(material: Material) -> str:
    """Return the sentence of the page about the condition."""
    (side,) = [one for one in material.sides if one.name.startswith("A")]
    assert side.verdict is not None
    (found,) = [one for one in side.verdict.sentences if one.startswith(CONDITION)]
    return found


@pytest.mark.parametrize(
    ("noise", "read_us", "words", "code"),
    [
        (0.10, 103.0, "cannot tell, as the change is", EXIT_CANNOT_TELL),
        (0.001, 125.0, "fails, with a change of", EXIT_WORSE),
        (0.001, 100.0, "shown to stay within the limit, with a change of", 0),
    ],
)
def test_the_page_said_it_is_not_so_where_the_terminal_could_not_tell(  # noqa: PLR0913, PLR0917
    kept: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    noise: float,
    read_us: float,
    words: str,
    code: int,
) -> None:
    """``iops<-3%: it is not so.`` stood beside exit code 7, where neither side was shown."""
    name = compared(kept, noise, read_us)
    material = gather(kept, [name])
    assert said(material).startswith(f"{CONDITION}: {words}")
    assert "it is not so" not in said(material)
    assert words in markdown(material)
    assert words in html_page(material)
    assert called(monkeypatch, "compare", name) == code
    assert (words in capsys.readouterr().err) == (code == EXIT_CANNOT_TELL)
    assert called(monkeypatch, "compare", name, "--json") == code
    (told,) = json.loads(capsys.readouterr().out)["verdicts"]
    decided = {0: "passes", EXIT_WORSE: "fails", EXIT_CANNOT_TELL: "cannot tell"}
    assert told["decision"] == decided[code]


def test_a_verdict_without_proof_has_both_probabilities() -> None:
    random = np.random.default_rng(1)
    logs = 0.1 * random.standard_normal((2, 10))
    a, b = 1000 * np.exp(logs[0]), 970 * np.exp(logs[1])
    figures = ComparedFigures(
        {"iops": compare_means([*a], [*b], in_turns=True, is_drawn=True)}, {}, None
    )
    found = verdict(parse_condition(CONDITION), figures, 1)
    words = verdict_words(found)
    assert words.startswith("cannot tell, as the change is ")
    assert f"(p = {found.p_value:.4f})" in words
    assert f"(p = {found.pass_p_value:.4f})" in words


def test_a_verdict_that_is_doubted_has_the_doubt() -> None:
    doubted = Verdict(CONDITION, -0.05, 1.0, is_met=False, why_not=None, doubts=("the runs drift",))
    assert verdict_words(doubted) == "cannot tell, as the runs drift"
    unknown = Verdict(CONDITION, None, None, is_met=False, why_not="no run has it")
    assert verdict_words(unknown) == "cannot be judged: no run has it"


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ((1, 1), "Each side has a single run"),
        ((3, 1), "B has a single run"),
        ((1, 3), "A has a single run"),
    ],
)
def test_one_side_had_a_single_run_where_both_had(
    kept: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: tuple[int, int],
    words: str,
) -> None:
    runner = SimulatedStorage(kept, {"old.dat": Truth(noise=0.01)})
    a, b = ([runner.run((*COMMON, "old.dat")).run_id for _ in range(count)] for count in runs)
    called(monkeypatch, "compare", ",".join(map(str, a)), ",".join(map(str, b)))
    told = " ".join(capsys.readouterr().out.split())
    assert f"{words}: differences between runs are not in the interval" in told
    assert "ne side has" not in told
