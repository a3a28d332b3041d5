"""A page that a scanner left with its cells out of order: each figure has the page's digits.

The page is Jose Barreto's of 2014 (``data/import/page-scanned.txt``), with seven results, and some
seventy lines of scripts. All that stands here was read off it by eye.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fathom.tools.formats import read_source

if TYPE_CHECKING:
    from fathom.imported import ImportedResult, Reading

DATA = Path(__file__).parent / "data/import"
LABELS = "min 25th 50th 75th 90th 95th 99th 3-nines 4-nines 5-nines 6-nines 7-nines 8-nines max"

# The arguments, the total, and the percentiles of each result.
TOTALS = [
    ("-t8 -o8 -b8K", "162840576 19878 15.52 1985.97 32.626 55.312"),
    ("-t2 -o8 -b512K", "1737490432 3314 165.65 331.29 48.095 50.873"),
    ("-t1 -o6 -b512K", "1664614400 3175 158.74 317.48 18.853 21.943"),
    ("-b8k -o10 -t1", "160145408 19549 15.25 1952.47 5.125 8.135"),
    ("-b8k -o8 -t1", "2928967680 357540 279.32 35753.26 0.223 0.051"),
    ("-b8k -o4 -t2", "3039797248 371069 289.89 37105.87 0.215 0.411"),
    ("-b8k -o10 -t1", "158466048 19344 15.10 1933.25 5.170 6.145"),
]
PERCENTILES = [
    "3.360 5.031 8.309 12.630 148.845 160.892 172.259 254.020 613.602" + " 823.760" * 5,
    "9.406 31.087 38.397 47.216 64.783 90.786 356.669 452.198" + " 686.307" * 6,
    "7.743 13.151 15.301 17.777 22.027 29.791 102.261 346.305" + " 437.603" * 6,
    # Most of this table is cut off.
    "- 3.961 - - 5.405 - - - - - - - 454.760 -",
    "0.114 0.209 0.215 0.224 0.245 0.268 0.388 0.509 2.905 3.017" + " 3.048" * 4,
    "0.088 0.208 0.210 0.213 0.219 0.231 0.359 0.511 1.731 80.959" + " 90.252" * 4,
    "3.860 4.385 4.646 5.052 5.640 6.243 12.413 63.972 356.710" + " 436.406" * 5,
]
# The first and the last line of each.
PLACES = [(1, 3), (3, 3), (21, 21), (21, 42), (71, 95), (97, 97), (101, 101)]
# Rows of threads, in order.
THREADS = [
    [
        "20480000 2500 1.95 249.77 32.502 55.200",
        "20635648 2519 1.97 251.67 32.146 54.405",
        "21094400 2575 2.01 257.26 31.412 53.410",
        "20553728 2509 1.96 250.67 32.343 56.548",
        "20365312 2486 1.94 248.37 32.599 54.448",
        "20160512 2461 1.92 245.87 32.982 54.838",
        "19972096 2438 1.90 243.58 33.293 55.178",
        "19578880 2390 1.87 238.78 33.848 58.472",
    ],
    [
        "886046720 1690 84.47 168.95 46.749 47.545",
        "851443712 1624 81.17 162.35 49.497 54.084",
    ],
    ["1664614400 3175 158.74 317.48 18.853 21.943"],
    # Only pieces of this row are left.
    [],
    ["2928967680 357540 279.32 35753.26 0.223 0.051"],
    [
        "1519640576 185503 144.92 18549.78 0.215 0.419",
        "1520156672 185566 144.97 18556.08 0.215 0.404",
    ],
    ["158466048 19344 15.10 1933.25 5.170 6.145"],
]
# Rows of CPUs; - is a cell that is cut, the last row is the average.
CPUS = [
    [
        "0 5.31 0.16 5.15 94.76",
        "1 1.87 0.47 1.40 98.19",
        "2 1.25 0.16 1.09 98.82",
        "3 2.97 0.47 2.50 97.10",
        "avg. 2.85 0.31 2.54 97.22",
    ],
    [
        "0 4.53 0.31 4.22 95.44",
        "1 1.25 0.16 1.09 98.72",
        "2 0.00 0.00 0.00 99.97",
        "3 0.00 0.00 0.00 -",
    ],
    [
        "0 2.03 0.16 1.87 97.96",
        "1 0.00 0.00 0.00 99.84",
        "2 0.00 0.00 0.00 100.15",
        "3 0.00 0.00 0.00 100.31",
        "avg. 0.51 0.04 0.47 99.56",
    ],
    ["0 - 1.09 7.49 91.45"],
    [
        "0 99.06 2.97 - 0.94",
        "1 5.16 0.62 4.53 94.84",
        "2 14.53 2.81 11.72 85.47",
        "3 17.97 - 11.56 82.03",
        "4 24.06 5.16 18.91 75.94",
        "5 8.28 1.56 6.72 91.72",
        "6 - 3.91 12.19 83.90",
        "7 8.91 0.94 7.97 91.09",
        "avg. 24.26 - 21.21 75.74",
    ],
    [
        "0 62.19 1.87 60.31 37.81",
        "1 62.34 1.87 60.47 37.66",
        "2 11.41 0.78 10.62 88.75",
        "3 26.25 0.00 26.25 73.75",
        "4 8.59 0.47 8.12 91.56",
        "5 16.25 0.00 16.25 83.75",
        "6 7.50 0.47 7.03 92.50",
        "7 3.28 0.47 2.81 96.72",
        "avg. 24.73 0.74 23.98 75.31",
    ],
    [
        "0 12.96 0.62 12.34 86.98",
        "1 0.00 0.00 0.00 99.94",
        "2 0.00 0.00 0.00 99.94",
        "3 0.00 0.00 0.00 99.94",
        "avg. 3.24 0.16 3.08 96.70",
    ],
]
# Lines of scripts that are cut at the edge of the page: what is whole in them.
CUT = [
    ("Param -o 1", {"iops": "7873.26", "mib_per_s": "61.51"}),
    ("Param -o 3", {"iops": "23407.31", "mib_per_s": "182.87"}),
    ("Param -o 5", {"iops": "32823.29"}),
    ("Param -o 7", {"iops": "33335.89"}),
    ("Param -o 16", {"iops": "33026.79", "mib_per_s": "258.02", "mean": "0.484"}),
]


@cache
def page() -> Reading:
    """Import the page."""
    return read_source((DATA / "page-scanned.txt").read_bytes())


def results() -> list[ImportedResult]:
    """Return the seven results of DiskSpd itself."""
    return [one for one in page().results if one.origin == "diskspd-text"]


def figures(texts: Any) -> str:  # noqa: ANN401 - A mapping of texts.
    """Return the cells of a row of I/Os."""
    return " ".join(texts[name] for name in ("bytes", "ios", "mib_per_s", "iops", "mean", "std"))


def test_all_seven_results_have_the_pages_totals() -> None:
    found = results()
    assert len(found) == 7
    for one, (arguments, row) in zip(found, TOTALS, strict=True):
        assert arguments in one.command_line
        assert one.total is not None
        assert figures(one.total.texts) == row
        assert one.read == one.total
        assert "out of order" in one.notes[0]
    places = [one.lines for one in found]
    assert places == PLACES


@pytest.mark.parametrize("at", range(7))
def test_each_percentile_that_is_legible_is_there_and_no_other(at: int) -> None:
    total = results()[at].total
    assert total is not None
    assert total.latency is not None
    told = dict(zip(LABELS.split(), PERCENTILES[at].split(), strict=True))
    assert {label: total.texts.get(label, "-") for label in told} == told
    by_value = {f"{value / 1e6:.3f}" for value in total.latency.percentiles_ns.values()}
    middle = {one for label, one in told.items() if label not in ("min", "max")}
    assert by_value == middle - {"-"}


@pytest.mark.parametrize("at", range(7))
def test_each_row_of_threads_has_the_pages_digits(at: int) -> None:
    rows = results()[at].rows
    assert [figures(row.directions["total"].texts) for row in rows] == THREADS[at]
    assert [row.label for row in rows] == [str(number) for number in range(len(rows))]


@pytest.mark.parametrize("at", range(7))
def test_each_row_of_cpus_has_the_pages_digits_or_says_what_is_cut(at: int) -> None:
    found = results()[at]
    rows = [*found.cpus, *([found.cpu_average] if found.cpu_average else [])]
    shown = [
        " ".join([cpu.label, *(one.removesuffix("%") or "-" for one in cpu.texts.values())])
        for cpu in rows
    ]
    assert shown == CPUS[at]


def test_lines_of_scripts_are_read_across_pages_and_as_far_as_they_are_legible() -> None:
    told = [one for one in page().results if one.origin == "diskspd-script"]
    cut = [one for one in told if one.notes]
    assert [(one.title, dict(one.total.texts)) for one in cut if one.total] == CUT
    runs = [one for one in told if one.title.startswith("Run")]
    assert [one.title for one in runs] == [f"Run {n}" for n in (*range(1, 9), *range(1, 11))]
    seventh = runs[6]
    assert seventh.total is not None
    assert seventh.cpu_average is not None
    assert seventh.total.texts == {"iops": "34451.48", "mib_per_s": "269.15", "mean": "0.232"}
    assert seventh.cpu_average.texts["usage_percent"] == "25.74"
    # It begins on one page and ends on the next.
    assert seventh.lines is not None
    assert seventh.lines[0] < seventh.lines[1]


@pytest.mark.parametrize("name", ["blog-bullets", "blog-prose", "blog-typographic", "page-scanned"])
def test_each_line_is_named_or_all_its_figures_are_in_a_result(name: str) -> None:
    """No number is lost in silence: what stands in no result stands in a line that is named."""
    reading = read_source((DATA / f"{name}.txt").read_bytes())
    named = {line.number for line in reading.unparsed}
    whole = json.dumps([one.to_dict() for one in reading.results])
    lines = re.split(r"\r\n|\n|\r", (DATA / f"{name}.txt").read_text())
    for number, line in enumerate(lines, start=1):
        if number not in named:
            lost = [one for one in re.findall(r"\d+\.\d+|\d{3,}", line) if one not in whole]
            assert not lost, (number, line, lost)
