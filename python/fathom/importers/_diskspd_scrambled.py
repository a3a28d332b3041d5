"""Results of DiskSpd whose cells stand out of order, as in pages that were scanned or folded.

Nothing is read by its place here but by what must hold of it: bytes are I/Os times the block size,
IOPS are I/Os and MiB/s are MiB divided by the test time, and the latencies of a total stand behind
its IOPS. A figure for which no number of the text qualifies is left unknown. Percentiles rise from
``min`` to ``max``; of reads alone (or writes alone) each stands there twice, for the direction and
for the total, so that 28 numbers in the part of percentiles are theirs in rising order.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom.importers._diskspd_lines import decimal, nanoseconds, normal
from fathom.importers._diskspd_load import Settings, command_settings
from fathom.importers._diskspd_tables import WHAT
from fathom.importers._imported import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedResult,
    ImportedTarget,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scrambled_results"]

_BEGIN = re.compile(r"Command Line: |PS [A-Z]:\\\S*> ")
_COMMAND = re.compile(r"[^\s>]*diskspd\.exe(?: -?[\w.]+)+? (?:[A-Z]:\\|\\\\)\S+", re.IGNORECASE)
_TIME = re.compile(r"(\d+\.\d\d)s\b")
_AVERAGE = re.compile(r"avg\.[ |]+([\d.]+)%[ |]+([\d.]+)%[ |]+([\d.]+)%[ |]+([\d.]+)%")
_PERCENTS = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999)
_LEAST_FOLDED = 300
_HALF_A_CENT = 0.005
_BYTES_PER_MIB = 1 << 20
_NOTE = (
    "The cells of this text stand out of order: its figures were found by what must hold between "
    "them, and those that no number qualifies for are unknown."
)


def scrambled_results(lines: Sequence[str]) -> list[ImportedResult]:
    """Return the results of a text of which lines hold several lines of DiskSpd."""
    if not any("Results for timespan" in line and len(line) > _LEAST_FOLDED for line in lines):
        return []
    whole = " ".join(normal(line) for line in lines)
    text = " ".join(whole.replace("\\_", "").replace("|", " ").split())
    starts = [match.start() for match in _BEGIN.finditer(text)]
    parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    results: list[ImportedResult] = []
    command = ""
    for part in parts:
        # The prompt before a result repeats the command, often better than its head does.
        if (match := _COMMAND.search(part)) and (part.startswith("PS ") or not command):
            command = re.sub(r" (c\d+[KMG]) ", r" -\1 ", match[0])
        if (found := _result(part, command)) is not None:
            results.append(found)
            command = ""
    return results


def _result(text: str, command: str) -> ImportedResult | None:
    told = command_settings(command)
    time = _TIME.search(text)
    if not command or time is None or " IO " not in text:
        return None
    total = _total(text, told.block_bytes[0], float(time[1]))
    if total is None:
        return None
    is_read = told.write_percent == [0.0]
    average = _AVERAGE.search(text)
    return ImportedResult(
        origin="diskspd-text",
        tool="DiskSpd",
        title=command,
        command_line=command,
        measured_s=float(time[1]),
        load=Settings().load(told),
        targets=tuple(ImportedTarget(path) for path in told.paths),
        read=total if is_read else None,
        total=total,
        cpu_average=_cpu(average) if average else None,
        notes=(_NOTE,),
    )


def _cpu(match: re.Match[str]) -> ImportedCpu:
    usage, user, kernel, idle = (decimal(cell) for cell in match.groups())
    return ImportedCpu("avg.", usage, user, kernel, idle, {"usage_percent": f"{match[1]}%"})


def _total(text: str, block_bytes: int, measured_s: float) -> ImportedDirection | None:
    counts = {int(one) for one in re.findall(r"(?<![\d.])\d{2,15}(?![\d.%])", text)}
    pairs = [ios for ios in counts if ios and ios * block_bytes in counts]
    if not pairs:
        return None
    ios = max(pairs)
    size = ios * block_bytes
    cents = re.findall(r"(?<![\d.])\d+\.\d\d(?![\d%s])", text)
    iops = _nearest(cents, ios / measured_s, measured_s)
    rate = _nearest(cents, size / _BYTES_PER_MIB / measured_s, measured_s)
    if iops is None or rate is None:
        return None
    behind = re.search(rf"(?<![\d.]){re.escape(iops)} (\d+\.\d{{3}}) (\d+\.\d{{3}})(?!\d)", text)
    latency = _latency(text, ios, behind.groups() if behind else None)
    texts = {"bytes": str(size), "ios": str(ios), "mib_per_s": rate, "iops": iops}
    texts |= dict(zip(("mean", "std"), behind.groups(), strict=True)) if behind else {}
    return ImportedDirection(ios, size, decimal(iops), decimal(rate), latency=latency, texts=texts)


def _nearest(texts: Sequence[str], value: float, measured_s: float) -> str | None:
    """Return the number that a value was printed as, if the rounding of the time explains it."""
    slack = value * _HALF_A_CENT / measured_s + _HALF_A_CENT
    near = [text for text in texts if abs(float(text) - value) <= slack]
    return min(near, key=lambda text: abs(float(text) - value), default=None)


def _latency(text: str, ios: int, mean: Sequence[str] | None) -> ImportedLatency | None:
    if mean is None:
        return None
    _before, _found, behind = text.partition("%-ile")
    numbers = re.findall(r"(?<![\d.])\d+\.\d{3}(?!\d)", _table(behind))
    # The means of tables without I/O, 0.000, may have slipped in among them.
    values = sorted(float(one) for one in numbers if float(one))
    first, second = values[::2], values[1::2]
    whole = len(values) == 2 * (len(_PERCENTS) + 2) and first == second
    shares = [nanoseconds(f"{one:.3f}") or 0.0 for one in first] if whole else []
    return ImportedLatency(
        WHAT,
        ios,
        nanoseconds(mean[0]),
        nanoseconds(mean[1]),
        shares[0] if whole else None,
        shares[-1] if whole else None,
        dict(zip(_PERCENTS, shares[1:-1], strict=True)) if whole else {},
    )


def _table(text: str) -> str:
    """Return the part that holds percentiles: up to the first words that are none of theirs."""
    end = re.search(r"(?!nines|min|max|Read|Write|Total|ms)\b[A-Za-z]{3,}\b", text)
    return text[: end.start()] if end else text
