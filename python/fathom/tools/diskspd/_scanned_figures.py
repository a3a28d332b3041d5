"""Figures of a result whose cells stand out of order, found by what must hold between them.

Bytes are I/Os times the block size; IOPS are I/Os, and MiB/s are MiB, divided by the test time; the
latencies stand behind the IOPS, once at least. The threads' I/Os sum up to the total's, and their
means, weighted by I/Os, to its mean. What no number of the text qualifies for is unknown.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from fathom.imported.model import ImportedDirection, ImportedLatency
from fathom.tools._lines import decimal, nanoseconds
from fathom.tools.diskspd._tables import WHAT, percent_of
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scrambled_threads", "scrambled_total"]

_PERCENTS = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999)
_LABELS = "min 25th 50th 75th 90th 95th 99th 3-nines 4-nines 5-nines 6-nines 7-nines 8-nines max"
_HALF_A_CENT = 0.005
_MEAN_SLACK_MS = 0.002
# A row stands in the table of the total and in that of the reads, and so does the total itself.
_SHOWN = 2
_MOST_TABLE = 1500


def scrambled_total(text: str, block_bytes: int, measured_s: float) -> ImportedDirection | None:
    """Return the total with its percentiles; None if its I/Os, bytes and rates are not there."""
    pairs = _pairs(text, block_bytes)
    found = _figures(text, max(pairs, default=0), block_bytes, measured_s)
    return None if found is None else _with_percentiles(found, text)


def scrambled_threads(
    text: str, total: ImportedDirection, block_bytes: int, threads: int, measured_s: float
) -> list[ImportedDirection]:
    """Return the figures of each thread in order; of all or of none."""
    pairs = _pairs(text, block_bytes)
    if threads == 1 and len(re.findall(rf"(?<!\d){total.bytes}(?!\d)", text)) > _SHOWN:
        # A single thread has the figures of the total, which then stand there once more.
        latency = total.latency and replace(
            total.latency, min_ns=None, max_ns=None, percentiles_ns={}
        )
        texts = {name: one for name, one in total.texts.items() if name not in _LABELS.split()}
        return [replace(total, latency=latency, texts=texts)]
    own = [ios for ios in pairs if ios != total.ios]
    rows = [_figures(text, ios, block_bytes, measured_s) for ios in own]
    whole = [row for row in rows if row is not None]
    return whole if len(whole) == len(rows) == threads and _add_up(whole, total) else []


def _add_up(rows: Sequence[ImportedDirection], total: ImportedDirection) -> bool:
    means = [(row.ios or 0, row.latency and row.latency.mean_ns) for row in rows]
    if sum(ios for ios, _mean in means) != total.ios or total.latency is None:
        return False
    if any(mean is None for _ios, mean in means) or total.latency.mean_ns is None:
        return False
    mean_ns = math.fsum(ios * (mean or 0) for ios, mean in means) / total.ios
    return abs(mean_ns - total.latency.mean_ns) <= _MEAN_SLACK_MS * 1e6


def _pairs(text: str, block_bytes: int) -> list[int]:
    """Return the I/Os of which the bytes stand there too, in the order of these."""
    tokens = [int(one) for one in re.findall(r"(?<![\d.])[1-9]\d{1,14}(?![\d.%])", text)]
    known = set(tokens)
    sizes = dict.fromkeys(one for one in tokens if one and one % block_bytes == 0)
    return [one // block_bytes for one in sizes if one // block_bytes in known]


def _figures(text: str, ios: int, block_bytes: int, measured_s: float) -> ImportedDirection | None:
    size = ios * block_bytes
    cents = re.findall(r"(?<![\d.])\d+\.\d\d(?![\d%s])", text)
    iops = _nearest(cents, ios / measured_s, measured_s)
    rate = _nearest(cents, size / MIB / measured_s, measured_s)
    if not ios or iops is None or rate is None:
        return None
    # The first digit may be lost at the edge of the page; whole numbers of other columns, and the
    # numbers of threads, may have slipped in between.
    pattern = (
        rf"(?<![\d.]){iops[0]}?{re.escape(iops[1:])}(?: \d+(?![\d.]))* (\d+\.\d{{3}})"
        r"(?: \d{1,3}(?![\d.]))* (\d+\.\d{3})(?!\d)"
    )
    behind = re.search(pattern, text)
    texts = {"bytes": str(size), "ios": str(ios), "mib_per_s": rate, "iops": iops}
    if behind is None:
        return ImportedDirection(ios, size, decimal(iops), decimal(rate), texts=texts)
    mean, std = behind.groups()
    latency = ImportedLatency(WHAT, ios, nanoseconds(mean), nanoseconds(std))
    texts |= {"mean": mean, "std": std}
    return ImportedDirection(ios, size, decimal(iops), decimal(rate), latency=latency, texts=texts)


def _nearest(texts: Sequence[str], value: float, measured_s: float) -> str | None:
    """Return the number that a value was printed as, if the rounding of the time explains it."""
    slack = value * _HALF_A_CENT / measured_s + _HALF_A_CENT
    near = [text for text in texts if abs(float(text) - value) <= slack]
    return min(near, key=lambda text: abs(float(text) - value), default=None)


def _with_percentiles(found: ImportedDirection, text: str) -> ImportedDirection:
    if found.latency is None:
        return found
    _before, _mark, behind = text.partition("%-ile")
    texts = _in_order(_table(behind)) or _by_label(behind[:_MOST_TABLE])
    shares = {label: nanoseconds(one) for label, one in texts.items()}
    percents = {
        percent: value
        for label, value in shares.items()
        if value is not None and (percent := percent_of(label)) in _PERCENTS
    }
    latency = replace(
        found.latency,
        min_ns=shares.get("min"),
        max_ns=shares.get("max"),
        percentiles_ns=percents,
    )
    return replace(found, latency=latency, texts={**found.texts, **texts})


def _in_order(table: str) -> dict[str, str]:
    """Return all percentiles, which rise: of reads alone each stands there twice; else nothing."""
    numbers = re.findall(r"(?<![\d.])\d+\.\d{3}(?!\d)", table)
    # The means of tables without I/O, 0.000, may have slipped in among them.
    values = sorted((one for one in numbers if float(one)), key=float)
    labels = _LABELS.split()
    if len(values) != 2 * len(labels) or values[::2] != values[1::2]:
        return {}
    return dict(zip(labels, values[::2], strict=True))


def _by_label(table: str) -> dict[str, str]:
    """Return the percentiles that stand whole behind their labels, if they rise."""
    pattern = r"(\d\dth|\d-nines|min|max) (\d+\.\d{3}) (?:N/A (\d+\.\d{3})(?!\d)|N(?!/))"
    found = re.findall(pattern, table)
    # Where the line ends behind the reads, the total is lost: of reads alone it is the same.
    texts = {label: read for label, read, both in found if both in ("", read)}
    rising = [float(texts[label]) for label in _LABELS.split() if label in texts]
    return texts if all(one <= other for one, other in pairwise(rising)) else {}


def _table(text: str) -> str:
    """Return the part that holds percentiles: up to the first words that are none of theirs."""
    end = re.search(r"(?!nines|min|max|Read|Write|Writ|Total|tal|ms)\b[A-Za-z]{3,}\b", text)
    return text[: end.start()] if end else text
