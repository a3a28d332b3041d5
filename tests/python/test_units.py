"""Units: one table of them in the lab, and one place of their words."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import fathom
import pytest
from fathom.units import (
    LATENCY_UNITS,
    SIZES,
    TIMES_S,
    block_words,
    clock_words,
    ms_words,
    rate_words,
    size_words,
    time_words,
)

PACKAGE = Path(fathom.__file__).parent
# A size or time by its number: what only this one file may define.
OWN_TABLE = re.compile(
    r"""^\w*(?:(?:NANOS|NS)_PER_(?:SECOND|MILLI|MS|S|MICRO)|BYTES_PER_[KMG]IB)\s*=\s*\d
    |^_?[KMG]IB\s*=\s*1
    |\{\s*"":\s*1,\s*"[Kk]"
    |1\s<<\s40,\s"TiB"
    |def\s(?:size|time|bytes|rate|clock|count)_words""",
    re.VERBOSE | re.MULTILINE,
)
# A page has the sign of microseconds; tables of Arrow are being reworked.
ALLOWED = {"units.py", "report/_words.py"}


def test_no_file_has_units_of_its_own() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if OWN_TABLE.search(path.read_text(encoding="utf-8"))
    }
    assert found <= ALLOWED


@pytest.mark.parametrize(
    "line", ["_NANOS_PER_MILLI = 1_000_000", "_MIB = 1 << 20", '_UNITS = {"": 1, "k": 1 << 10}']
)
def test_a_table_of_its_own_is_found(line: str) -> None:
    assert OWN_TABLE.search(f"import re\n{line}\n")


def test_each_unit_is_a_multiple_of_the_one_before() -> None:
    sizes = [*SIZES.values()]
    assert [b / a for a, b in pairwise(sizes)] == [1024] * 5
    assert [TIMES_S[unit] for unit in LATENCY_UNITS] == [1e-9, 1e-6, 1e-3, 1.0]


@pytest.mark.parametrize(
    ("size", "words", "block"),
    [
        (0, "0 bytes", "0"),
        (512, "512 bytes", "512"),
        (1536, "1.5 KiB", "1536"),
        (64 << 10, "64 KiB", "64K"),
        (3 << 29, "1.5 GiB", "1536M"),
        (5 << 50, "5 PiB", "5242880G"),
        ((1 << 60) + 1, "1024 PiB", "1152921504606846977"),
    ],
)
def test_sizes(size: int, words: str, block: str) -> None:
    assert (size_words(size), block_words(size)) == (words, block)


def test_times_and_rates() -> None:
    assert [time_words(one) for one in (850, 85_300, 4.2e6, 0.5e9, 250e9)] == [
        "0.85 us",
        "85.3 us",
        "4.2 ms",
        "500 ms",
        "250 s",
    ]
    assert time_words(7_000, micro="µs") == "7 µs"
    assert [clock_words(one) for one in (0, 0.2, 59.7, 3_661)] == [
        "0:00",
        "0:01",
        "1:00",
        "1:01:01",
    ]
    assert [rate_words(one) for one in (7.254, 99.5, 85_312.4)] == ["7.25", "99.5", "85,312"]


def test_latencies_below_10_us_were_rounded_to_whole_microseconds_in_tables() -> None:
    shown = {
        85_342: "0.085",
        9_999: "0.01000",
        8_500: "0.00850",
        1_364: "0.00136",
        42: "0.000042",
        0: "0.000",
    }
    assert {time_ns: ms_words(time_ns) for time_ns in shown} == shown
