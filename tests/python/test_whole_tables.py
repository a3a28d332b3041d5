"""No table shows a part of a number, at any width of a terminal."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from fathom.cli.views import runs as _shown
from fathom.cli.views.experiment_line import ExperimentLine
from fathom.cli.views.whole_console import WholeConsole
from fathom.cli.views.whole_progress import whole_progress
from fathom.cli.views.whole_table import fitting
from fathom.experiments.progress import Progress
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTHS = st.integers(40, 200)
NUMBERS = st.one_of(
    st.integers(0, 10**12).map("{:,}".format),
    st.floats(0, 1e6, allow_nan=False).map("{:,.3f}".format),
    st.tuples(st.integers(-999, 999), st.integers(-999, 999)).map(
        lambda pair: f"{pair[0]:+.2f} to {pair[1]:+.2f}"
    ),
)
WORDS = st.lists(
    st.sampled_from(["4K", "random", "/dev/nvme0n1", "8,712", "1.50", "t16", "o128", "Ω漢字"]),
    min_size=1,
    max_size=9,
).map(" ".join)
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]], list[str]]:
    """Return titles, rows and the titles that may be left out."""
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=14))
    columns = [f"column{at}{'>' if kind else ''}" for at, kind in enumerate(kinds)]
    row = st.tuples(*(NUMBERS if kind else WORDS for kind in kinds)).map(list)
    rows = draw(st.lists(row, min_size=1, max_size=4))
    names = [one.removesuffix(">") for one in columns[1:]]
    return columns, rows, draw(st.permutations(names).map(lambda some: some[: len(some) // 2]))


def drawn(
    columns: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], width: int
) -> str:
    """Return a table as a terminal of this width gets it."""
    screen = io.StringIO()
    terminal = WholeConsole(file=screen, width=width, force_terminal=True, color_system=None)
    with mock.patch.object(_shown, "console", return_value=terminal):
        terminal.print(_shown.text_table("", columns, rows, spare=spare))
    return screen.getvalue()


def left_out(text: str) -> list[str]:
    """Return the titles that a table says it has left out."""
    found = re.search(r"Not shown, for want of room: ([^.]*)\.", " ".join(text.split()))
    return found[1].split(", ") if found else []


@settings(max_examples=100, deadline=None)
@given(table=tables(), width=WIDTHS)
def test_every_number_is_whole_or_its_column_is_named_as_left_out(
    table: tuple[list[str], list[list[str]], list[str]], width: int
) -> None:
    columns, rows, spare = table
    text = drawn(columns, rows, spare, width)
    left = left_out(text)
    assert set(left) <= set(spare)
    lines = text.splitlines()
    assert max(len(line) for line in lines) <= width
    # Each cell of numbers stands on one line, with nothing that would make it another number.
    shown = [NUMBER.findall(line) for line in lines]
    for row in rows:
        for title, cell in zip(columns, row, strict=True):
            if title.removesuffix(">") in left:
                continue
            numbers = NUMBER.findall(cell)
            pieces = [piece for line in shown for piece in line]
            assert all(one in pieces for one in numbers), (cell, text)
    told = {one for row in rows for cell in row for one in NUMBER.findall(cell)}
    titles = {one for title in columns for one in NUMBER.findall(title)}
    assert {piece for line in shown for piece in line} <= told | titles, text


@pytest.mark.parametrize("width", range(40, 201, 10))
def test_a_sweep_of_four_axes_shows_its_figures_whole(width: int) -> None:
    columns = ["threads>", "depth>", "block>", "writes>", "IOPS>", "+/- %>", "MiB/s>", "mean ms>"]
    row = ["16", "32", "64K", "90", "20,168", "1.2", "1,260.50", "25.386"]
    text = drawn(
        [*columns, "p99 ms>", "source"], [[*row, "31.457", "measured"]], ["mean ms"], width
    )
    for number in ("16", "32", "64K", "90", "20,168", "1,260.50", "31.457"):
        assert re.search(rf"(?<![\d,.]){re.escape(number)}(?![\d,.])", text), text


def test_a_wide_terminal_leaves_nothing_out() -> None:
    text = drawn(["a>", "b>"], [["1", "2"]], ["b"], 80)
    assert not left_out(text)
    assert "2" in text


@pytest.mark.parametrize("width", [60, 120])
def test_a_terminal_that_moves_no_cursor_was_taken_to_have_80_columns(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    for name, value in (("TERM", "dumb"), ("FORCE_COLOR", "1"), ("COLUMNS", str(width))):
        monkeypatch.setenv(name, value)
    terminal = _shown.console()
    assert (terminal.is_dumb_terminal, terminal.width) == (True, width)


def test_what_no_table_has_room_for_becomes_a_block() -> None:
    text = drawn(
        ["threads>", "depth>", "IOPS>", "interval>"], [["1", "2", "3,000", "1 to 2"]], [], 20
    )
    assert text.splitlines() == ["threads 1", "  depth 2", "  IOPS 3,000", "  interval 1 to 2"]


@given(parts=st.lists(NUMBERS, max_size=5), room=st.integers(0, 80))
def test_a_line_has_whole_parts_alone(parts: list[str], room: int) -> None:
    line = fitting(parts, room)
    assert len(line) <= room
    assert "  ".join(parts).startswith(line)
    assert line in ["  ".join(parts[:count]) for count in range(len(parts) + 1)]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_progress_shows_whole_figures(width: int) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=width, color_system=None)
    figures = ["123,456 IOPS", "9,876.5 MiB/s", "p99 12.345 ms"]
    with whole_progress(terminal, tells_time=True) as bars:
        bars.add_task("measuring, time span 12", total=10, figures=figures)
    numbers = set(
        NUMBER.findall(re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]|-:--:--", "", screen.getvalue()))
    )
    assert numbers <= {"123,456", "9,876.5", "99", "12.345", "12"}, screen.getvalue()
    assert "123,456" in numbers


@pytest.mark.parametrize("width", [60, 80])
def test_a_bar_took_the_room_of_percentiles_and_a_long_name_was_not_shown(width: int) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=width, color_system=None)
    with whole_progress(terminal, tells_time=True) as bars:
        figures = ["123,456 IOPS", "9.5 MiB/s", "p50 0.345 ms", "p99 12.345 ms"]
        bars.add_task("measuring", total=10, figures=figures)
        bars.add_task("/mnt/a-long-folder/within-another/of-them/data.dat", figures=figures)
    shown = screen.getvalue()
    assert "p50 0.345 ms" in shown
    assert "p99 12.345 ms" in shown or width == 60
    assert re.search(r"\.\.\.[a-z/-]*\.dat", shown), shown
    assert max(map(len, re.split(r"[\r\n]|\x1b\[[^a-zA-Z]*[a-zA-Z]", shown))) <= width


def test_progress_of_an_experiment_goes_to_a_pipe_as_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ExperimentLine("cells") as line:
        line.tell(Progress(5, 10, 0, 60.0, 61.0, "t4 o32", None))
    assert capsys.readouterr().err == "5 of about 10 cells, 1:01 left\n"
