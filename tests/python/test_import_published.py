"""Results as people have published them, in short: their digits, and no line lost.

Where each comes from stands in ``data/import/README.md``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.tools.formats import read_source

if TYPE_CHECKING:
    from fathom.imported import ImportedDirection, ImportedResult

DATA = Path(__file__).parent / "data/import"


def only(name: str) -> ImportedResult:
    """Return the one result of a sample of which no line is left over."""
    reading = read_source((DATA / name).read_bytes())
    assert not reading.unparsed
    (found,) = reading.results
    return found


def texts(found: ImportedDirection | None, *names: str) -> list[str]:
    """Return figures as they stand in the source."""
    assert found is not None
    return [found.texts[name] for name in names]


def test_a_mix_of_2_0_21_has_all_its_figures() -> None:
    found = only("diskspd-2.0.21.txt")
    names = ("bytes", "ios", "mib_per_s", "iops", "mean", "iops_std", "std", "50th", "9-nines")
    assert texts(found.total, *names) == (
        ["146169856", "35686", "4.64", "1189.03", "0.840", "129.18", "1.051", "0.297", "35.257"]
    )
    assert texts(found.read, "iops", "99th") == ["834.98", "0.877"]
    assert texts(found.write, "iops", "3-nines") == ["354.05", "8.378"]
    assert [one.texts["user_percent"] for one in found.cpus] == ["0.36%", "0.05%", "0.00%", "0.00%"]
    assert (found.host_name, found.load.write_percent) == ("QuickTest2", 30)
    (row,) = found.rows
    assert texts(row.directions["write"], "ios", "iops_std") == ["10626", "38.48"]


def test_cpus_of_two_sockets_keep_their_numbers() -> None:
    found = only("diskspd-2.2-sockets.txt")
    assert [(one.label, one.usage_percent) for one in found.cpus] == [
        ("0", 1.25),
        ("1", 3.12),
        ("5", 0.0),
    ]
    assert found.cpu_average is not None
    assert found.cpu_average.texts["idle_percent"] == "99.91%"
    assert (found.load.block_bytes, found.load.threads, found.load.random_percent) == (4096, 4, 100)
    assert texts(found.write, "mean", "99th", "max") == ["4.739", "14.864", "46.704"]


def test_cpus_of_two_groups_are_told_apart() -> None:
    found = only("diskspd-2.0.21-groups.txt")
    assert [one.label for one in found.cpus] == ["0/0", "0/63", "1/0", "1/47"]
    assert [row.target[0] for row in found.rows] == ["E", "F", "G"]
    assert texts(found.rows[1].directions["total"], "mean", "std") == ["384.184", "15.705"]
    # The excerpt has no total, and none is made up of the rows that it kept.
    assert found.total is None


MARKS = {
    "crystaldiskmark-3.0.3-blog.txt": (8, "Random Write 4KB (QD=32)", "0.294", 71.8, None),
    "crystaldiskmark-7.0.0.txt": (4, "Random 4KiB (Q= 32, T=16) read", "0.851", 207.8, 635_043.04),
    "crystaldiskmark-8.0.0-uwp.txt": (4, "RND 4KiB (Q= 1, T= 1) write", "127.670", 31169.4, 31.86),
}


@pytest.mark.parametrize("name", MARKS)
def test_texts_of_crystaldiskmark_have_their_digits(name: str) -> None:
    reading = read_source((DATA / name).read_bytes())
    count, title, megabytes, iops, mean_us = MARKS[name]
    assert len(reading.results) == count
    (found,) = [one for one in reading.results if one.title == title]
    assert texts(found.total, "mb_per_s") == [megabytes]
    assert found.total is not None
    assert found.total.iops == iops
    mean_ns = found.total.latency.mean_ns if found.total.latency else None
    assert mean_ns == (None if mean_us is None else pytest.approx(mean_us * 1000))
    # The blog's own words are named.
    assert [line.number for line in reading.unparsed] == ([1, 3, 22, 23] if "blog" in name else [])
