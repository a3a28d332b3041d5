"""The forms of a report: pictures, paper, Markdown, the terminal, and which files are replaced."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from at_terminal import at_a_terminal
from fathom import report as reports
from fathom.report import ReportError, gather, markdown, pdf_pages, picture, write
from fathom.store import Store
from reported import called, figures, saved_assessment, saved_sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GRID = {"block": "4K,16K,64K", "depth": "1..8"}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_pictures_are_of_their_form_in_both_themes(kept: Store) -> None:
    view = figures(gather(kept, [f"e{saved_sweep(kept, GRID)}"]))["heat-map"].views[0]
    png = picture(view, "png", comment="a test")
    assert png.startswith(b"\x89PNG")
    assert b"Made by Fathom: a test" in png
    light, dark = (picture(view, "svg", theme=one).decode() for one in ("light", "dark"))
    assert "4K" in light
    assert "var(--" not in light + dark
    assert "#171c24" in dark
    assert "#171c24" not in light
    assert picture(view, "pdf").startswith(b"%PDF")


def test_paper_has_the_words_and_the_figures(kept: Store, tmp_path: Path) -> None:
    paper = pdf_pages(gather(kept, [f"e{saved_assessment(kept)}"]))
    assert paper.startswith(b"%PDF")
    place = tmp_path / "report.pdf"
    place.write_bytes(paper)
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("pdftotext of poppler-utils is not installed")
    words = subprocess.run([reader, place, "-"], capture_output=True, check=True).stdout.decode()
    assert "It is fast." in words
    assert "Load curve" in words


def test_markdown_has_the_tables(kept: Store) -> None:
    text = markdown(gather(kept, [f"e{saved_sweep(kept, GRID)}"]))
    assert "| Block | Depth | Threads |" in text
    assert text.count("\n| 4K |") >= 4


def test_only_what_fathom_made_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    place.write_text("my notes")
    with pytest.raises(ReportError, match="--overwrite"):
        write(place, b"new")
    assert place.read_text() == "my notes"
    write(place, b"<!-- Made by Fathom -->1", force=True)
    write(place, b"<!-- Made by Fathom -->2")
    assert place.read_text().startswith("<!-- Made by Fathom -->2\n")


@pytest.mark.parametrize("words", [["plot", "heat-map"], ["report"]], ids=["plot", "report"])
def test_what_cannot_be_written_was_drawn_first(
    words: list[str],
    kept: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FATHOM_STORE", kept.name)
    for name in ("picture", "pdf_pages"):
        monkeypatch.setattr(reports, name, lambda *_, **_more: pytest.fail("it was drawn"))
    place, notes = tmp_path / "nowhere/x.pdf", tmp_path / "notes.pdf"
    notes.write_text("my notes")
    reference = f"e{saved_sweep(kept, GRID)}"
    assert called(monkeypatch, *words, reference, "-o", str(place)) != 0
    assert f"there is no folder {place.parent}" in capsys.readouterr().err
    assert called(monkeypatch, *words, reference, "-o", str(notes)) != 0
    assert "--overwrite" in capsys.readouterr().err


def test_a_figure_as_json_is_json_and_known_as_ours(tmp_path: Path) -> None:
    place = tmp_path / "f.json"
    write(place, b'{\n "a": 1\n}\n')
    assert json.loads(place.read_text())["a"] == 1
    write(place, b'{\n "a": 2\n}\n')
    assert json.loads(place.read_text())["a"] == 2
    place.write_text(place.read_text().replace("2", "3", 1))
    with pytest.raises(ReportError, match="--overwrite"):
        write(place, b'{\n "a": 4\n}\n')


def test_the_command_writes_each_form_and_says_what_it_cannot(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = f"e{saved_sweep(kept, GRID)}"
    monkeypatch.setenv("FATHOM_STORE", kept.name)
    monkeypatch.chdir(tmp_path)
    for name in ("r.html", "r.md", "r.pdf"):
        assert called(monkeypatch, "report", reference, "-o", name) == 0
        # Another time, over what is ours.
        assert called(monkeypatch, "report", reference, "-o", name) == 0
    assert called(monkeypatch, "report", reference, "--format", "svg", "-o", "pictures") == 0
    assert (tmp_path / "pictures" / "heat-map.svg").exists()
    assert called(monkeypatch, "plot", "heat-map", reference, "--choose", "shown=MiB/s") == 0
    assert (tmp_path / "heat-map.png").read_bytes().startswith(b"\x89PNG")
    assert called(monkeypatch, "plot", "nothing", reference) == 3
    assert "heat-map" in capsys.readouterr().err
    assert called(monkeypatch, "report", "e99", "-o", "x.html") == 3
    assert not (tmp_path / "x.html").exists()


@pytest.fixture
def drawn(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[str]], int]:
    """Return what calls a command with the experiment e1, in a folder of its own."""
    monkeypatch.setenv("FATHOM_STORE", kept.name)
    assert saved_sweep(kept, GRID) == 1
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return lambda words: called(monkeypatch, *words)


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ("plot heat-map e1 -o -", b"\x89PNG"),
        ("plot heat-map e1 -o /dev/stdout --format svg", b"<svg"),
        ("plot heat-map e1 -o - --format pdf", b"%PDF"),
        ("plot heat-map e1 -o - --format json", b"{"),
        ("report e1 -o - --format pdf", b"%PDF"),
        ("report e1 -o /dev/stdout --format md", b"# "),
    ],
)
def test_plot_could_not_write_to_the_standard_output(
    words: str,
    begins: bytes,
    drawn: Callable[[list[str]], int],
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert drawn(words.split()) == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(begins), out[:40]
    assert not err
    assert not [*Path().iterdir()]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("plot heat-map e1", 3),
        ("plot heat-map e1 --format pdf", 3),
        ("plot heat-map e1 --format json", 0),
        ("report e1 --format pdf", 3),
        ("report e1 --format md", 0),
    ],
)
@pytest.mark.usefixtures("drawn")
def test_what_is_no_text_is_not_shown_on_a_terminal(words: str, code: int) -> None:
    fathom = str(Path(sys.executable).with_name("fathom"))
    ended, said, _ = at_a_terminal([fathom, *words.split(), "-o", "-"], [])
    assert ended == code, said
    assert ("is a terminal" in said) == (code == 3), said
    assert "PNG" not in said
    assert "%PDF" not in said


@pytest.mark.parametrize(
    ("words", "name"),
    [("plot heat-map e1", "heat-map.png"), ("report e1", "fathom-report-e1.html")],
    ids=["plot", "report"],
)
def test_an_existing_folder_was_taken_for_a_file_that_somebody_else_made(
    words: str, name: str, drawn: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path("all.d")
    folder.mkdir()
    for _ in range(2):
        assert drawn([*words.split(), "-o", str(folder)]) == 0
    assert [one.name for one in folder.iterdir()] == [name]
    (folder / name).unlink()
    (folder / name).mkdir()
    assert drawn([*words.split(), "-o", str(folder), "--overwrite"]) != 0
    assert "is a folder: name a file in it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["plot heat-map e1", "report e1", "report e1 --format svg"], ids=str
)
def test_what_goes_to_dev_null_is_dropped_and_other_devices_and_pipes_are_named(
    words: str, drawn: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn([*words.split(), "-o", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()
    assert not [*Path().iterdir()]
    os.mkfifo("pipe.png")
    form = [] if "--format" in words else ["--format", "pdf"]
    for place in ("pipe.png", "/dev/zero"):
        capsys.readouterr()
        assert drawn([*words.split(), *form, "-o", place, "--overwrite"]) != 0
        said = capsys.readouterr().err
        assert "name a f" in said, said
        assert "pipe or a socket" in said or "no folder" in said, said


def test_pictures_of_a_report_do_not_go_to_the_standard_output(
    drawn: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn(["report", "e1", "--format", "png", "-o", "-"]) == 3
    assert "fathom plot" in capsys.readouterr().err
    assert not Path("-").exists()


def test_other_programs_get_plain_tables_and_json(
    kept: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = f"e{saved_sweep(kept, GRID)}"
    monkeypatch.setenv("FATHOM_STORE", kept.name)
    assert called(monkeypatch, "report", reference, "--terminal") == 0
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    assert "█" not in plain
    assert "64K" in plain
    assert called(monkeypatch, "report", reference, "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    assert {one["name"] for one in whole["figures"]} >= {"heat-map", "by-depth"}
