"""A report says the same as page, as Markdown and on the terminal, and what it repeats does so."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom._text import shell_line
from fathom.cli.views.claims import legend_of
from fathom.cli.views.report import show_report
from fathom.engine import parse
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.compare import compare_runs
from fathom.experiments.session import one_reason
from fathom.experiments.tune.experiment import plan_tune
from fathom.experiments.tune.knee_search import Goal, geometric_mean
from fathom.report import gather, html_page, markdown
from fathom.report.collect._again import again
from fathom.report.material import Advice, Material, Side, TargetsCompared
from fathom.runners.native import stored_figures
from fathom.store import Store
from reported import called, saved_preparations, saved_repetition
from simulated_storage import SimulatedStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FULL = "thread {}: write of 4096 bytes at offset 0 of 'x.dat' failed: No space left on device"


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def saved_grid(store: Store, count: int, failed: str = "") -> int:
    """Save a sweep of so many shares of writes, and of one more that failed."""
    axis = {"name": "write", "option": "-w", "values": [str(one) for one in range(count)]}
    plan = {"axes": [axis], "arguments": ["-b4K", "-c1M", "x.dat"], "seed": 0, "mode": "fixed"}
    plan |= {"duration_s": 1}
    steps = [(f"write={one}", {"write": str(one)}) for one in range(count + bool(failed))]
    experiment_id = store.experiments.begin("sweep", "sweep", plan, steps)
    cells: list[dict[str, Any]] = []
    for step, _ in zip(store.experiments.get(experiment_id).steps, range(count), strict=False):
        result = fabricated(
            rates=1000.0, path="x.dat", warnings=[("cpu_offline", "CPU 1 was offline.")]
        )
        run_id = store.runs.save(
            result, ["-b4K", "x.dat"], experiment_id=experiment_id, step_id=step.id
        )
        figures = asdict(stored_figures(result))
        cell = {"parameters": step.parameters, "source": "measured", "figures": figures}
        cells.append({**cell, "run_id": run_id, "findings": []})
        store.experiments.set_step(step.id, "done")
    if failed:
        last = store.experiments.get(experiment_id).steps[-1]
        store.experiments.set_step(last.id, "failed", failed)
        cells.append({"parameters": last.parameters, "source": "failed", "failure": failed})
    store.experiments.finish(experiment_id, "complete", outcome={"cells": cells})
    return experiment_id


def said(store: Store, reference: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return what each form of a report says, as plain words."""
    material = gather(store, [reference])
    show_report(material)
    page = re.sub(r"<script.*?</script>", "", html_page(material), flags=re.DOTALL)
    forms = {
        "page": html.unescape(re.sub(r"<[^>]+>", "", page)),
        "markdown": html.unescape(re.sub(r"\\(.)", r"\1", markdown(material))).replace("*", ""),
        "terminal": capsys.readouterr().out,
    }
    return {name: " ".join(text.split()) for name, text in forms.items()}


def test_defect_13_findings_of_a_large_sweep_are_told_in_all_forms(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of more than 24 runs it was said that none were looked for; Markdown dropped the section."""
    number = saved_grid(kept, 30)
    (side,) = gather(kept, [f"e{number}"]).sides
    assert side.is_judged
    assert len(side.runs) < 30
    assert side.advice
    for form, text in said(kept, f"e{number}", capsys).items():
        assert "None were looked for" not in text, form
        for one in side.advice:
            for part in (one.title, one.evidence, one.where, one.remedy):
                assert " ".join(part.split()) in text, (form, part)


def test_defect_13_no_findings_are_told_in_all_forms(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    axis = {"name": "write", "option": "-w", "values": ["0"]}
    plan = {"axes": [axis], "arguments": ["x.dat"], "seed": 0}
    number = kept.experiments.begin("sweep", "sweep", plan)
    kept.experiments.finish(number, "complete", outcome={"cells": []})
    for form, text in said(kept, f"e{number}", capsys).items():
        assert "None were looked for: that needs whole runs" in text, form


def test_defect_14_what_failed_has_a_name_and_a_reason_in_all_forms(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was "18 measurements were made, and 5 failed", and no more."""
    why = "; ".join(FULL.format(thread) for thread in range(8))
    number = saved_grid(kept, 2, why)
    for form, text in said(kept, f"e{number}", capsys).items():
        assert "Failed measurements" in text, form
        assert f"write=2: {FULL.format(0)} (7 other threads failed, too)" in text, form


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (None, "why is not known"),
        ("x.dat is gone", "x.dat is gone"),
        (f"{FULL.format(0)}; {FULL.format(1)}", f"{FULL.format(0)} (1 other thread failed, too)"),
    ],
)
def test_defect_14_a_reason_is_told_once(failure: str | None, words: str) -> None:
    assert one_reason(failure) == words


def test_defect_15_what_repeats_a_sweep_has_no_retired_option(
    kept: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was --write, of which the command said "note: --write is now --writes"."""
    number = saved_grid(kept, 2)
    (side,) = gather(kept, [f"e{number}"]).sides
    program, *words = shlex.split(side.commands[0])
    assert (program, words[0]) == ("fathom", "sweep")
    capsys.readouterr()
    assert called(monkeypatch, *words, "--dry-run") == 0
    assert "note:" not in capsys.readouterr().err


LOAD = ["-b4K", "-r", "-c1M", "x.dat"]


@pytest.mark.parametrize(
    ("verb", "plan"),
    [
        ("tune", plan_tune(LOAD, "1..2", "1..4", goal=Goal("p99", 2e5), grow=False).as_dict()),
        ("tune", plan_tune(LOAD, "1..2", "1..4", goal=Goal("mean", 1e6), grow=True).as_dict()),
        ("repeat", {"arguments": ["-d1", *LOAD], "metric": "p99", "pilot": 5, "most": 9}),
        ("compare", {"a": ["-d1", *LOAD], "b": ["-d1", "-o4", *LOAD], "metrics": ["p99"]}),
        ("assess", {"targets": ["."], "effort": asdict(EFFORTS["quick"]), "steady_seconds": 60}),
    ],
)
def test_defect_15_what_repeats_an_experiment_is_understood(
    verb: str,
    plan: dict[str, Any],
    kept: Store,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = kept.experiments.begin(verb, verb, plan)
    _, *words = shlex.split(again(kept.experiments.get(number)))
    assert ("--no-grow" in words) == (plan.get("grow") is False)
    assert called(monkeypatch, *words, "--dry-run") == 0
    assert "note:" not in capsys.readouterr().err


def test_defect_15_what_repeats_the_filling_of_a_file_makes_it(kept: Store, tmp_path: Path) -> None:
    """A file that is no more cannot be filled without its size."""
    _, filled, _ = saved_preparations(kept, tmp_path)
    (side,) = gather(kept, [f"e{filled}"]).sides
    words = ["fathom", "prepare", "fill", "--size", str(4 << 20), str(tmp_path / "new.dat")]
    assert shlex.split(side.commands[0]) == words


def test_defect_15_a_scratch_file_is_named_in_the_folder_that_was_given(
    kept: Store, tmp_path: Path
) -> None:
    """Its own folder is removed at the end, so that the first line failed already."""
    storage = SimulatedStorage(kept, size_bytes=64 << 20)
    number = assess(kept, storage, [str(tmp_path)], EFFORTS["quick"]).experiment_id
    (side,) = gather(kept, [f"e{number}"]).sides
    assert "fathom-assess-" not in " ".join([*side.commands, *dict(side.device).values()])
    _, *lines = (shlex.split(one, comments=True) for one in side.commands)
    assert lines
    assert {words[-1] for words in lines} == {str(tmp_path / "scratch.dat")}
    # The first makes the file that the others read.
    assert any(word.startswith("-c") for word in lines[0])
    for _, *words in lines:
        parse(words)


def tuned(iops: float) -> dict[str, Any]:
    """Return the outcome of a tuning with two runs of its best load, of 1,000 and 4,000 IOPS."""
    points = []
    for rate in (1000.0, 4000.0):
        figures = asdict(stored_figures(fabricated(rates=rate, path="x.dat")))
        points.append({"threads": 1, "depth": 2, "role": "search", "figures": figures})
    return {
        "goal": {"metric": "mean", "limit_ns": None, "share": 0.03},
        "threads": 1,
        "depth": 2,
        "iops": iops,
        "latency_ns": 1e5,
        "points": points,
    }


@pytest.mark.parametrize("iops", [2000.0, 2500.0])
def test_defect_22_a_row_of_a_tuning_has_one_kind_of_mean(kept: Store, iops: float) -> None:
    """IOPS were arithmetic, as an older version told them, and MiB/s geometric."""
    plan = {"arguments": ["-b4K", "x.dat"], "threads": [1], "depths": [2]}
    plan |= {"goal": tuned(iops)["goal"]}
    number = kept.experiments.begin("tune", "tune", plan)
    kept.experiments.finish(number, "complete", outcome=tuned(iops))
    material = gather(kept, [f"e{number}"])
    (cell,) = material.sides[0].grid
    assert cell.point is not None
    assert cell.point.iops == iops
    assert cell.point.mib_per_s == pytest.approx(iops * 4096 / (1 << 20), rel=1e-3)
    assert "geometric mean of 2 runs" in cell.point.label
    assert material.sides[0].verdict is not None
    said = "The figures of the best load are the geometric mean of 2 runs."
    assert said in material.sides[0].verdict.sentences
    for line in markdown(material).splitlines():
        if line.startswith("| Threads"):
            titles = [one.strip() for one in line.strip("|").split("|")]
            assert len(titles) == len(set(titles))


def test_defect_11_a_tuning_has_the_geometric_mean_of_its_runs() -> None:
    assert geometric_mean([1000.0, 4000.0]) == pytest.approx(2000)
    # Of one run exactly: it was "82,295" in a sentence beside 82,296 in the table.
    assert f"{geometric_mean([82295.5]):,.0f}" == "82,296"


def test_defect_11_a_comparison_says_which_means_it_has(kept: Store) -> None:
    ids = [
        [
            kept.runs.save(fabricated(rates=rate, path="x.dat"), ["x.dat"])
            for rate in (1000.0, 4000.0)
        ]
        for _ in "ab"
    ]
    a, b = (",".join(map(str, one)) for one in ids)
    found = compare_runs(kept, a, b)
    assert found.metrics["iops"].a_mean == pytest.approx(2000)
    said = [one.text for one in found.claims if one.key == "means"]
    assert len(said) == 1
    assert said[0].startswith("A and B are geometric means of 2 and 2 runs")
    one = compare_runs(kept, str(ids[0][0]), str(ids[1][0]))
    assert not [claim for claim in one.claims if claim.key == "means"]


def test_defect_25_headings_tell_runs_and_sides_apart(kept: Store) -> None:
    """Ten runs with one label had ten equal headings; two experiments of a target one name."""
    ids = [
        kept.runs.save(fabricated(rates=1000.0, path="x.dat"), ["x.dat"], label="nightly")
        for _ in range(3)
    ]
    (side,) = gather(kept, [",".join(map(str, ids))]).sides
    assert [one.label for one in side.runs] == [f"nightly (run {one})" for one in ids]
    (side,) = gather(kept, [str(ids[0])]).sides
    assert side.runs[0].label == "nightly"
    numbers = [saved_repetition(kept, [1000.0] * 5) for _ in range(2)]
    for number in numbers:
        kept.experiments.finish(number, "complete", outcome={"metrics": {}})
    names = [f"e{one}" for one in numbers]
    assert len({one.name for one in gather(kept, names).sides}) == 2
    two = gather(kept, [str(ids[0]), str(ids[1])]).sides
    for one, number in zip(two, ids[:2], strict=True):
        assert one.name.startswith(f"nightly (run {number}, ")


def test_defect_25_a_legend_names_a_finding_as_it_is_called_there() -> None:
    words = legend_of(["not-the-device"], {"not-the-device": "Memory and no device answered"})
    assert words == "[A] Memory and no device answered."
    side = Side(
        name="x",
        verb="run",
        advice=(Advice("x: Memory", "e", "r", "certain", rule="not-the-device", name="Memory"),),
    )
    assert Material("t", "c", (side,), "").found_names == {"not-the-device": "Memory"}


def test_defect_25_a_star_is_explained_where_one_stands() -> None:
    rows = (("IOPS", "1", "2"),)
    none = TargetsCompared(("a", "b"), "h", (), (), rows, ((),))
    assert none.legend == ""
    assert "the best" in TargetsCompared(("a", "b"), "h", (), (), rows, ((1,),)).legend


def test_defect_25_a_name_with_commands_to_a_terminal_is_spelt_and_repeats(
    kept: Store, tmp_path: Path
) -> None:
    """The printed path did not exist, and Markdown held the escape itself."""
    name = tmp_path / "a\x1b[31m'b\\.dat"
    name.write_bytes(b"x")
    number = kept.runs.save(fabricated(rates=1000.0, path=str(name)), ["-b4K", str(name)])
    material = gather(kept, [str(number)])
    for text in (markdown(material), html_page(material)):
        assert "\x1b" not in text
        assert "a\\x1b" in text.replace("\\\\", "\\")
    (line,) = material.sides[0].commands
    path = line.removeprefix("diskspd -b4K ")
    found = subprocess.run(["/bin/bash", "-c", f"cat {path}"], capture_output=True, check=True)
    assert found.stdout == b"x"
    assert shell_line("diskspd -b4K 'x y.dat'  # failed") == "diskspd -b4K 'x y.dat'  # failed"
