"""The tables of DiskSpd's text: their heads, and their rows as figures.

Which columns there are depends on version and options; each table's own head tells. ``MB/s`` of
DiskSpd before 2.0.18 is what later versions call ``MiB/s``: both divide by 1024 twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom._numbers import whole_number
from fathom.imported.model import ImportedCpu, ImportedDirection, ImportedLatency
from fathom.tools._lines import decimal, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["WHAT", "columns_of", "cpu_row", "io_figures", "percent_of"]

WHAT = "from the call to the completion"
_COLUMNS = {
    "thread": "thread",
    "type": "thread",
    "bytes": "bytes",
    "i/os": "ios",
    "mb/s": "mib_per_s",
    "mib/s": "mib_per_s",
    "i/o per s": "iops",
    "avglat": "mean",
    "latstddev": "std",
    "iopsstddev": "iops_std",
    "file": "file",
}
_NINES = re.compile(r"(\d)-nines")
_TH = re.compile(r"(\d+)th")


def columns_of(text: str) -> tuple[str, ...] | None:
    """Return the columns of the head of a table of I/Os; None if it is no such head."""
    cells = [cell.strip().lower() for cell in text.split("|")]
    if cells[0] not in ("thread", "type") or any(cell not in _COLUMNS for cell in cells):
        return None
    return tuple(_COLUMNS[cell] for cell in cells)


def io_figures(texts: Mapping[str, str]) -> ImportedDirection | None:
    """Return the figures of a row, by its columns; None if one is no number."""
    rates = {name: decimal(texts[name]) for name in ("iops", "mib_per_s") if name in texts}
    count, moved = whole_number(texts.get("ios", "")), whole_number(texts.get("bytes", ""))
    if (
        count is None
        or moved is None
        or set(rates) != {"iops", "mib_per_s"}
        or None in rates.values()
    ):
        return None
    latency = None
    if "mean" in texts:
        mean_ns = nanoseconds(texts["mean"])
        if mean_ns is None and texts["mean"] != "N/A":
            return None
        if count:
            # Of no I/O DiskSpd prints a mean of 0.000.
            std_ns = nanoseconds(texts.get("std", ""))
            latency = ImportedLatency(WHAT, count, mean_ns, std_ns)
    known = {name: text for name, text in texts.items() if name not in ("thread", "file")}
    return ImportedDirection(
        ios=count,
        bytes=moved,
        iops=rates["iops"],
        mib_per_s=rates["mib_per_s"],
        iops_std=decimal(texts.get("iops_std", "")),
        latency=latency,
        texts=known,
    )


def percent_of(label: str) -> float | None:
    """Return the percentile of a row's label; 0 for min and 100 for max."""
    ends = {"min": 0.0, "max": 100.0}
    if label in ends:
        return ends[label]
    if match := _TH.fullmatch(label):
        return float(match[1])
    if match := _NINES.fullmatch(label):
        # 3-nines are 99.9 %; fewer stand for themselves, as 90th and 99th.
        behind = "9" * (int(match[1]) - 2)
        return float(f"99.{behind}") if behind else None
    return None


def cpu_row(head: Sequence[str], cells: Sequence[str]) -> ImportedCpu | None:
    """Return a row of the table of CPUs, its average too; None if it is none."""
    label = " ".join(cells[:-4]).strip() or cells[0]
    figures = [decimal(cell) if cell.strip().endswith("%") else None for cell in cells[-4:]]
    if None in figures:
        return None
    if label.lower().startswith("avg"):
        label = "avg."
    elif len(cells) != len(head) or None in map(whole_number, cells[:-4]):
        return None
    else:
        # Where groups are reported, a CPU's number counts within its group.
        places = dict(zip(head, cells, strict=True))
        known = [places[name] for name in ("group", "cpu") if name in places]
        label = "/".join(known)
    names = ("usage_percent", "user_percent", "kernel_percent", "idle_percent")
    texts = dict(zip(names, (cell.strip() for cell in cells[-4:]), strict=True))
    usage, user, kernel, idle = figures
    return ImportedCpu(label, usage, user, kernel, idle, texts=texts)
