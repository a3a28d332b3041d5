"""Pages and papers of many targets, and of names that are no Latin letters."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from browsers import needs_chromium, started_browser
from fathom.report import gather, html_page, pdf_pages
from fathom.report.collect._assess import _rounds
from fathom.report.figures.steady_state import steady_state
from fathom.report.material import Side, TargetsCompared
from fathom.report.render.pdf import _plain
from fathom.store import Store
from fathom.units import first_listed, listed
from reported import saved_assessment, saved_repetition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fathom.report import Figure, Material

# The printable width of A4 in pixels of a style sheet.
PAPER = 700
HEBREW = "/mnt/\u05e9\u05dc\u05d5\u05dd"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def side_by_side(kept: Store, names: Sequence[str]) -> tuple[Material, list[str]]:
    """Return the material of so many targets, and the numbers that it compares."""
    rates = [f"{1_234_567 + 1_111 * at:,}" for at in range(len(names))]
    times = [f"{1.08 + at:.2f}" for at in range(len(names))]
    compared = TargetsCompared(
        names=tuple(names),
        headline="None is shown to be the fastest.",
        sentences=tuple(f"{name} {time} ms" for name, time in zip(names, times, strict=True)),
        notes=(),
        rows=(
            ("Random reads of 4 KiB, at most", *(f"{one} IOPS at 1.08 ms" for one in rates)),
            ("One write that survives an outage", *(f"{one} ms" for one in times)),
        ),
        best=((), ()),
    )
    material = gather(kept, [f"e{saved_assessment(kept)}"])
    return replace(material, compared=compared), [*rates, *times]


def test_paper_cut_the_numbers_of_20_targets(kept: Store, tmp_path: Path) -> None:
    """Twenty columns of 8 mm: "106," above "640"."""
    material, numbers = side_by_side(kept, [f"/mnt/a-long-name/target-{at:02}" for at in range(20)])
    place = tmp_path / "report.pdf"
    place.write_bytes(pdf_pages(material))
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("pdftotext of poppler-utils is not installed")
    text = subprocess.run([reader, "-layout", place, "-"], capture_output=True, check=True).stdout
    words = text.decode().split()
    assert [one for one in numbers if one not in words] == []


def test_names_of_other_letters_were_equal_question_marks_on_paper() -> None:
    assert _plain("/mnt/\u6f22\u5b57") == "/mnt/\\u6f22\\u5b57"
    assert _plain("85 \u00b5s") == "85 \u00b5s"
    # A sign of our own has one that stands for it.
    assert _plain("latencies (\u2248)") == "latencies (~)"


@needs_chromium
@pytest.mark.parametrize("count", [4, 20])
def test_a_printed_page_cut_what_was_scrolled_on_the_screen(
    kept: Store, tmp_path: Path, count: int
) -> None:
    """Already of four targets "160,862 IO" stood at the edge of the paper."""
    names = [f"/mnt/a-long-name/target-{at:02}" for at in range(count)]
    material, _ = side_by_side(kept, names)
    place = tmp_path / "page.html"
    place.write_text(html_page(material), encoding="utf-8")
    with started_browser() as browser:
        page = browser.new_page(viewport={"width": PAPER, "height": 1000})
        page.emulate_media(media="print")
        page.goto(place.as_uri())
        edges = page.eval_on_selector_all(
            ".compared td", "found => found.map(one => one.getBoundingClientRect().right)"
        )
        beyond = page.eval_on_selector_all(
            ".compared td", "found => found.map(one => one.scrollWidth - one.clientWidth)"
        )
    assert len(edges) == 2 * count
    assert max(edges) <= PAPER
    assert max(beyond) <= 0


@needs_chromium
def test_a_number_was_drawn_within_a_name_from_right_to_left(kept: Store, tmp_path: Path) -> None:
    """The path was "/mnt/1.08", and behind it stood the Hebrew name, whose time that was."""
    material, _ = side_by_side(kept, [HEBREW, "/mnt/b"])
    text = html_page(material)
    place = tmp_path / "page.html"
    place.write_text(text, encoding="utf-8")
    measured = """() => {
        const item = document.querySelector("#compared li");
        const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
        const left = {};
        for (let node = walker.nextNode(); node; node = walker.nextNode())
            for (const part of ["\u05e9", "1.08"]) {
                const at = node.data.indexOf(part);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                left[part === "1.08" ? "number" : "name"] = range.getBoundingClientRect().left;
            }
        return left;
    }"""
    with started_browser() as browser:
        page = browser.new_page()
        page.goto(place.as_uri())
        left = page.evaluate(measured)
    assert left["name"] < left["number"]
    # What is copied has no signs of ours.
    assert "\u2068" not in text


def test_many_names_are_a_sentence_and_a_title_of_few_lines() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert first_listed(["a", "b", "c", "d"]) == "a, b, c and d"
    assert first_listed([*"abcdefgh"]) == "a, b, c and 5 more"


def test_rounds_of_several_targets_were_judged_without_their_names_in_other_windows(
    kept: Store,
) -> None:
    """Each point had a first window of its own, and no sentence said of which target it is."""
    falling = [1000.0, 700.0, 500.0, 500.0, 500.0, 500.0, 500.0]
    points = {
        "4k": {"label": "4K random write", "iops": falling},
        "1m": {"label": "1M random read", "iops": [100.0] * 7},
    }
    rounds = _rounds({"points": points})
    sides = tuple(Side(name=name, verb="assess", rounds=rounds) for name in ("/a", "/b"))
    material = replace(gather(kept, [f"e{saved_assessment(kept)}"]), sides=sides)
    figure: Figure = steady_state(material)  # type: ignore[assignment]
    for name in ("/a", "/b"):
        for point in ("4K random write", "1M random read"):
            assert (
                f"{name}: The SNIA's rule is kept: over rounds 3 to 7 ({point}) the range"
                in figure.caption
            )


def test_runs_beyond_the_most_that_are_shown_were_left_out_silently(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of a repetition counted 200 runs of 250, and that of many targets lost the last."""
    monkeypatch.setattr("fathom.report.collect.gather._MOST_RUNS", 5)
    (repeated,) = gather(kept, [f"e{saved_repetition(kept, [1e4] * 5 + [3e4] * 2)}"]).sides
    assert len(repeated.runs) == 5
    assert repeated.notes == (
        "Of its 7 whole runs, what is shown and counted here are the first 5.",
    )
    (whole,) = gather(kept, [f"e{saved_repetition(kept, [1e4] * 5)}"]).sides
    assert whole.notes == ()
    (assessed,) = gather(kept, [f"e{saved_assessment(kept)}"]).sides
    assert len(assessed.runs) == 13
