"""CrystalDiskMark's text (versions 3 to 8), as *Save* and *Copy* give it.

The forms are those of CrystalDiskMark's ``DiskMarkDlg.cpp`` (``OnEditCopy``, ``ResultText``) in its
published sources. Each line is a measurement of its own, so each becomes a result. Its MB/s are
millions of bytes; IOPS and the mean latency are reported only where they stand in the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom._numbers import whole_number
from fathom.imported.model import (
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
    ImportedTarget,
    Reading,
    UnparsedLine,
)
from fathom.tools._lines import bytes_of, decimal, lines_of
from fathom.units import MIB

if TYPE_CHECKING:
    from fathom.tools._lines import Line

__all__ = ["looks_like_crystaldiskmark", "read_crystaldiskmark"]

_HEAD = re.compile(r"CrystalDiskMark (\d[\d.]*[a-z]?)\b(.*?)\(C\).*hiyohiyo.*")
_SITE = re.compile(r".*Crystal Dew World ?:.*|\* (?:MB/s|KB) = .*")
_SECTION = re.compile(r"\[(Read|Write|Mix)\].*")
_PLACE = r"(?P<place>Sequential|Random|SEQ|RND)"
_FIGURES = r" ?: ?(?P<mb>[\d.]+) MB/s(?: ?\[ ?(?P<iops>[\d.]+) IOPS\])?(?: ?< ?(?P<us>[\d.]+) us>)?"
# Version 3: "Random Read 4KB (QD=32)"; 4 to 6: "Random Read 4KiB (Q= 32,T= 1)"; from 7 on the
# direction is the section's, and from 8 on the places are called SEQ and RND.
_OLD = re.compile(
    rf"{_PLACE} (?P<side>Read|Write)(?: (?P<size>[\d.]+ ?[KM]i?B))?"
    rf"(?: \(QD ?= ?(?P<q>\d+)\)| \(Q= ?(?P<queue>\d+), ?T= ?(?P<threads>\d+)\))?{_FIGURES}"
)
_NEW = re.compile(
    rf"{_PLACE} (?P<size>[\d.]+ ?[KM]i?B) \(Q= ?(?P<queue>\d+), ?T= ?(?P<threads>\d+)\){_FIGURES}"
)
_FACT = re.compile(r"(Test|Date|OS|Profile|Mode|Time) ?:(.*)")
_BYTES_PER_MB = 1_000_000
_NS_PER_US = 1000
_DRIVE = re.compile(r"\[([A-Za-z]:)[^\]]*\]")


def looks_like_crystaldiskmark(text: str) -> bool:
    """Whether a text has the head of one of its results."""
    return "CrystalDiskMark" in text and " MB/s" in text


def read_crystaldiskmark(data: bytes) -> Reading:
    """Return a result for each measurement of each text of a file."""
    results: list[ImportedResult] = []
    unparsed: list[UnparsedLine] = []
    part: list[Line] = []
    for line in lines_of(data.decode("utf-8", "replace")):
        if _HEAD.fullmatch(line.text) and part:
            _part(part, results, unparsed)
            part = []
        part.append(line)
    _part(part, results, unparsed)
    return Reading(tuple(results), tuple(unparsed))


def _part(lines: list[Line], results: list[ImportedResult], unparsed: list[UnparsedLine]) -> None:
    """Read one text, from its head to the next one's."""
    head = next((match for line in lines if (match := _HEAD.fullmatch(line.text))), None)
    facts = {
        match[1].lower(): match[2].strip()
        for line in lines
        if head and (match := _FACT.fullmatch(line.text))
    }
    rows: list[tuple[Line, ImportedResult]] = []
    missed: list[Line] = []
    section = ""
    for line in lines:
        found = _measurement(line, section, head[1], facts) if head else None
        if found is not None:
            rows.append((line, found))
        elif head and (match := _SECTION.fullmatch(line.text)):
            section = match[1].lower()
        elif not (head and _is_known(line.text)) and line.text.strip("-* `"):
            missed.append(line)
    results += [found for _line, found in rows]
    numbers = [line.number for line, _found in rows]
    unparsed += [
        UnparsedLine(
            line.number,
            line.raw,
            is_within=bool(numbers) and numbers[0] <= line.number <= numbers[-1],
        )
        for line in missed
    ]


def _is_known(text: str) -> bool:
    return any(one.fullmatch(text) for one in (_HEAD, _SITE, _FACT))


def _measurement(
    line: Line, section: str, version: str, facts: dict[str, str]
) -> ImportedResult | None:
    match = _OLD.fullmatch(line.text) or (_NEW.fullmatch(line.text) if section else None)
    if match is None:
        return None
    found = match.groupdict()
    side = (found.get("side") or section).lower()
    megabytes = decimal(found["mb"])
    if megabytes is None:
        return None
    mean_us = decimal(found["us"]) if found["us"] else None
    figures = ImportedDirection(
        iops=decimal(found["iops"]) if found["iops"] else None,
        mib_per_s=megabytes * _BYTES_PER_MB / MIB,
        latency=None
        if mean_us is None
        else ImportedLatency("mean as CrystalDiskMark tells it", mean_ns=mean_us * _NS_PER_US),
        texts={"mb_per_s": found["mb"]},
    )
    drive = _DRIVE.search(facts.get("test", ""))
    return ImportedResult(
        origin="crystaldiskmark-text",
        tool="CrystalDiskMark",
        tool_version=version,
        title=f"{line.text.split(':')[0].strip()}{'' if found.get('side') else ' ' + side}",
        load=_load(found, side),
        targets=(ImportedTarget(drive[1]),) if drive else (),
        read=figures if side == "read" else None,
        write=figures if side == "write" else None,
        total=figures,
        options=facts,
        lines=(line.number, line.number),
    )


def _load(found: dict[str, str | None], side: str) -> ImportedLoad:
    # "4KB" of version 3 is 4 KiB: the later ones call the same test 4KiB.
    size = bytes_of(found["size"]) if found["size"] else None
    queue = found.get("q") or found.get("queue")
    threads = found.get("threads") or ("1" if queue else None)
    is_random = str(found["place"]).upper() in ("RANDOM", "RND")
    return ImportedLoad(
        block_bytes=size,
        threads=None if threads is None else whole_number(threads),
        outstanding=None if queue is None else whole_number(queue),
        write_percent={"read": 0.0, "write": 100.0}.get(side),
        random_percent=100.0 if is_random else 0.0,
    )
