"""DiskSpd's XML results (``-Rxml``), as ``schema/diskspd-result.xsd`` describes them.

The XML tells counts, bytes and percentiles, but no rates: these are counts divided by the test
time, which it rounds to 10 ms. Nothing outside of the document is ever read: no entity is resolved,
no network is used, and the parser's limits on depth and size stay on.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from fathom import _packages
from fathom._numbers import MOST_WHOLE, whole_number
from fathom.imported.errors import ImportFormatError
from fathom.imported.model import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
    ImportedRow,
    ImportedSeries,
    ImportedTarget,
    Reading,
    UnparsedLine,
)
from fathom.tools._lines import nanoseconds
from fathom.tools.diskspd._draft import started_s
from fathom.tools.diskspd._read_load import mixed_by
from fathom.tools.diskspd._tables import WHAT
from fathom.tools.diskspd._well_formed import well_formed
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lxml.etree import _Element

__all__ = ["looks_like_diskspd_xml", "read_diskspd_xml"]

ORIGIN = "diskspd-xml"
_NOTE = (
    "DiskSpd's XML tells no rates: IOPS and MiB/s are its counts divided by the test time, which "
    "it rounds to 10 ms."
)
_BEGIN = re.compile(
    r"(?:^|(?<=</Results>))[.\ufeff \t]*"
    r"((?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE.{0,4000}?>\s*)?<Results[\s>])",
    re.MULTILINE | re.DOTALL,
)
_NO_RESULT = re.compile(r"\.*\d{4}-\d\d-\d\dT[\d:.]+: .*|[.\ufeff\s]*|<\?xml.*\?>")
# What was declared was decoded before, and no declaration says what the text is now.
_DECLARATION = re.compile(r"\A<\?xml[^>]*>")
_ENCODING = re.compile(rb"\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_SINGLE_BYTES = {
    "iso-8859-1": "latin-1",
    "latin1": "latin-1",
    "windows-1252": "cp1252",
    "cp1252": "cp1252",
}
_PERCENTS = ("UsagePercent", "UserPercent", "KernelPercent", "IdlePercent")
_IN_FIELDS = {
    "BlockSize",
    "Duration",
    "Path",
    "RandomRatio",
    "RequestCount",
    "Targets",
    "ThreadCount",
    "Warmup",
    "WriteRatio",
}
_OFF = {"", "0", "false"}
_ENDS = (0.0, 100.0)
_SHOWN = 40


def looks_like_diskspd_xml(text: str) -> bool:
    """Whether a text holds such XML; what verbose runs say may stand before it."""
    return _BEGIN.search(text) is not None and "<TimeSpan" in text


def read_diskspd_xml(data: bytes) -> Reading:
    """Return the results of all time spans of all documents of a file.

    Raises
    ------
    ImportFormatError
        If it is no XML, or not DiskSpd's, or declares a document type.

    """
    text = _text(data)
    results: list[ImportedResult] = []
    unparsed: list[UnparsedLine] = []
    end = 0
    while (match := _BEGIN.search(text, end)) is not None:
        start, before = match.start(1), end
        unparsed += _passed_over(text, before, start)
        close = text.find("</Results>", start)
        end = len(text) if close < 0 else close + len("</Results>")
        first, last = (text.count("\n", 0, place) + 1 for place in (start, end))
        results += _document(text[start:end], (first, last))
    if not results and not end:
        raise ImportFormatError("this is no XML of DiskSpd: no line begins with <Results>")
    return Reading(tuple(results), (*unparsed, *_passed_over(text, end, len(text))))


def _text(data: bytes) -> str:
    """Return a text of UTF-8, or of what its declaration names."""
    declared = _ENCODING.match(data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        name = declared[1].decode().lower() if declared else ""
        return data.decode(_SINGLE_BYTES.get(name, "utf-8"), "replace")


def _document(text: str, lines: tuple[int, int]) -> list[ImportedResult]:
    root = _root(text)
    profiles = root.findall("Profile/TimeSpans/TimeSpan")
    return [
        _result(root, span, profiles[index] if index < len(profiles) else None, index + 1, lines)
        for index, span in enumerate(root.findall("TimeSpan"))
    ]


def _passed_over(text: str, start: int, end: int) -> list[UnparsedLine]:
    """Return the lines outside of documents, but for the log and the dots of progress."""
    number = text.count("\n", 0, start) + 1
    parts = [part.strip() for part in text[start:end].split("\n")]
    return [
        UnparsedLine(number + index, part, is_within=False)
        for index, part in enumerate(parts)
        if not _NO_RESULT.fullmatch(part)
    ]


def _root(text: str) -> _Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ImportFormatError("this XML declares a document type, which DiskSpd's never does")
    parser = _packages.etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False
    )
    try:
        return _packages.etree.fromstring(
            well_formed(_DECLARATION.sub("", text).strip()).encode(), parser
        )
    except (_packages.etree.XMLSyntaxError, ValueError) as error:
        raise ImportFormatError(f"this XML is damaged or cut off: {error}") from error


def _result(
    root: _Element,
    span: _Element,
    profile: _Element | None,
    number: int,
    lines: tuple[int, int],
) -> ImportedResult:
    measured_s = _number(span, "TestTimeSeconds")
    parts = {
        name: _direction(span, name, _sum(span, f"{name}Count"), _sum(span, f"{name}Bytes"))
        for name in ("Read", "Write")
    }
    total = _direction(span, "Total", _sum(span, "IOCount"), _sum(span, "BytesCount"))
    other = root.find("System/Tool/Implementation")
    version = root.findtext("System/Tool/Version") or ""
    return ImportedResult(
        origin=ORIGIN,
        tool="DiskSpd" if other is None else str(other.get("Name")),
        tool_version=version if other is None else str(other.get("Version")),
        title="" if number == 1 else f"time span {number}",
        time_stamp_unix_s=started_s(root.findtext("System/RunTime") or ""),
        host_name=root.findtext("System/ComputerName") or "",
        measured_s=measured_s,
        load=_load(profile, span),
        targets=_targets(span, profile),
        read=parts["Read"],
        write=parts["Write"],
        total=total,
        sync=_operations(root, "Sync", number, measured_s),
        trim=_operations(root, "Trim", number, measured_s),
        cpus=_cpus(span.findall("CpuUtilization/CPU")),
        cpu_average=next(
            (_cpu(cpu, "avg.") for cpu in span.findall("CpuUtilization/Average")), None
        ),
        rows=tuple(_rows(span)),
        series=tuple(_series(span.find("Iops"))),
        complete=span.find("Error") is None and span.find("Thread") is not None,
        options=_settings(profile),
        notes=(_NOTE,) if span.find("Thread") is not None else _no_result(span),
        lines=lines,
    )


def _direction(
    span: _Element, name: str, ios: int | None, size: int | None
) -> ImportedDirection | None:
    if ios is None or size is None:
        return None
    measured_s = _number(span, "TestTimeSeconds")
    latency = _latency(span.find("Latency"), name, ios) if ios else None
    return _rates(span, name, (ios, size), measured_s, latency)


def _rates(
    found: _Element,
    name: str,
    counts: tuple[int | None, int | None],
    measured_s: float | None,
    latency: ImportedLatency | None,
) -> ImportedDirection:
    """Return a direction of a time span or of a target, by its I/Os and bytes."""
    ios, size = counts
    std = "IopsStdDev" if name == "Total" else f"{name}IopsStdDev"
    return ImportedDirection(
        ios=ios,
        bytes=size,
        iops=_rate(ios, measured_s),
        mib_per_s=_rate(None if size is None else size / MIB, measured_s),
        iops_std=_number(found, f"Iops/{std}"),
        latency=latency,
    )


def _latency(found: _Element | None, name: str, ios: int) -> ImportedLatency | None:
    if found is None:
        return None
    values: dict[float, float] = {}
    for bucket in found.findall("Bucket"):
        percent = _number(bucket, "Percentile")
        value = nanoseconds(bucket.findtext(f"{name}Milliseconds") or "")
        if percent is not None and value is not None:
            values[percent] = value
    std = "LatencyStdev" if name == "Total" else f"{name}LatencyStdev"
    return ImportedLatency(
        WHAT,
        ios,
        nanoseconds(found.findtext(f"Average{name}Milliseconds") or ""),
        nanoseconds(found.findtext(std) or ""),
        values.get(_ENDS[0]),
        values.get(_ENDS[1]),
        {percent: value for percent, value in values.items() if percent not in _ENDS},
    )


def _operations(
    root: _Element, name: str, number: int, measured_s: float | None
) -> ImportedDirection | None:
    """Return syncs or trims, which our own XML has beside DiskSpd's."""
    found = root.find(f"{name}[@TimeSpan='{number}']")
    count = None if found is None else _whole(found, "Count")
    if found is None or count is None:
        return None
    pairs = [
        (_number(one, "Percentile"), nanoseconds(one.findtext("Milliseconds") or ""))
        for one in found.findall("Bucket")
    ]
    values = {
        percent: value for percent, value in pairs if percent is not None and value is not None
    }
    latency = ImportedLatency(
        WHAT,
        count,
        nanoseconds(found.findtext("AverageMilliseconds") or ""),
        nanoseconds(found.findtext("LatencyStdev") or ""),
        values.get(_ENDS[0]),
        values.get(_ENDS[1]),
        {percent: value for percent, value in values.items() if percent not in _ENDS},
    )
    return ImportedDirection(
        count,
        _whole(found, "Bytes"),
        _rate(count, measured_s),
        latency=latency if pairs else None,
    )


def _load(profile: _Element | None, span: _Element) -> ImportedLoad:
    threads = _whole(span, "ThreadCount")
    if profile is None:
        return ImportedLoad(threads=threads)

    def one(name: str, default: float | None = None) -> float | None:
        found = [_number(target, name) for target in profile.findall("Targets/Target")]
        values = {default if value is None else value for value in found}
        return values.pop() if len(values) == 1 else None

    mixed = {part for text in _instructions(profile) for part in mixed_by(text)}
    block, outstanding = one("BlockSize"), one("RequestCount")
    pool = _whole(profile, "RequestCount") if _whole(profile, "ThreadCount") else None
    is_random = [target.find("Random") is not None for target in profile.findall("Targets/Target")]
    place = one("RandomRatio", 100.0) if all(is_random) else None
    return ImportedLoad(
        block_bytes=None if block is None or "block_bytes" in mixed else round(block),
        threads=threads,
        outstanding=pool or (None if outstanding is None else round(outstanding)),
        write_percent=one("WriteRatio"),
        random_percent=None if "random_percent" in mixed else place if any(is_random) else 0.0,
        duration_s=_number(profile, "Duration"),
        warm_up_s=_number(profile, "Warmup"),
    )


def _settings(profile: _Element | None) -> dict[str, Any]:
    """Return what stands in no other field; where targets differ, a text for each."""
    if profile is None:
        return {}
    found: dict[str, Any] = _set_elements(profile)
    targets = [_set_elements(target) for target in profile.findall("Targets/Target")]
    for name in dict.fromkeys(name for target in targets for name in target):
        texts = [target.get(name, "") for target in targets]
        found[name] = texts[0] if len(set(texts)) == 1 else texts
    return found


def _set_elements(element: _Element) -> dict[str, str]:
    """Return the settings of a time span or a target that are not off."""
    found: dict[str, list[str]] = {}
    for child in element.iterchildren("*"):
        for leaf in child.iter("*"):
            if child.tag in _IN_FIELDS or len(leaf):
                continue
            names = map(str, leaf.keys())
            facts = [*(f"{name}={leaf.get(name)}" for name in names), leaf.text or ""]
            found.setdefault(child.tag, []).append(" ".join(facts).strip())
    for instruction in element.iterchildren(_packages.etree.PI):
        name, _, value = (instruction.text or "").partition(" ")
        found[name] = [value or "true"]
    texts = {name: ", ".join(parts) for name, parts in found.items()}
    return {name: text for name, text in texts.items() if text not in _OFF}


def _instructions(profile: _Element) -> Iterator[str]:
    """Return the settings of the targets that DiskSpd's schema has no element for."""
    for target in profile.findall("Targets/Target"):
        yield from (one.text or "" for one in target.iterchildren(_packages.etree.PI))


def _no_result(span: _Element) -> tuple[str, ...]:
    error = span.findtext("Error")
    return (error,) if error else ("This time span has no threads, and so no figures.",)


def _targets(span: _Element, profile: _Element | None) -> tuple[ImportedTarget, ...]:
    sizes: dict[str, int | None] = {}
    if profile is not None:
        sizes = {one.findtext("Path") or "": None for one in profile.findall("Targets/Target")}
    for target in span.findall("Thread/Target"):
        sizes[target.findtext("Path") or ""] = _whole(target, "FileSize")
    return tuple(ImportedTarget(path, size) for path, size in sizes.items())


def _rows(span: _Element) -> Iterator[ImportedRow]:
    measured_s = _number(span, "TestTimeSeconds")
    for thread in span.findall("Thread"):
        for target in thread.findall("Target"):
            parts = {
                name.lower(): _of_target(target, name, measured_s)
                for name in ("Total", "Read", "Write")
            }
            yield ImportedRow(thread.findtext("Id") or "", target.findtext("Path") or "", parts)


def _of_target(target: _Element, name: str, measured_s: float | None) -> ImportedDirection:
    """Return what one thread did to one target; of reads and writes together XML has no latency."""
    names = ("IOCount", "BytesCount") if name == "Total" else (f"{name}Count", f"{name}Bytes")
    ios, size = (_whole(target, one) for one in names)
    mean_ns = nanoseconds(target.findtext(f"Average{name}LatencyMilliseconds") or "")
    std_ns = nanoseconds(target.findtext(f"{name}LatencyStdev") or "")
    is_known = bool(ios) and mean_ns is not None
    latency = ImportedLatency(WHAT, ios, mean_ns, std_ns) if is_known else None
    return _rates(target, name, (ios, size), measured_s, latency)


def _rate(amount: float | None, measured_s: float | None) -> float | None:
    return amount / measured_s if amount is not None and measured_s else None


def _series(iops: _Element | None) -> Iterator[ImportedSeries]:
    """Return the intervals of ``-D``: their rates are I/Os per second, whatever their length."""
    buckets = [] if iops is None else iops.findall("Bucket")
    ends_s = [_attribute(bucket, "SampleMillisecond") / 1000 for bucket in buckets]
    gaps = {round(end - start, 6) for start, end in zip([0.0, *ends_s], ends_s, strict=False)}
    interval_s = gaps.pop() if len(gaps) == 1 else None
    for name in ("Read", "Write", "Total"):
        rates = [
            (end, _attribute(bucket, name)) for end, bucket in zip(ends_s, buckets, strict=True)
        ]
        if rates:
            yield ImportedSeries("iops", name.lower(), interval_s, tuple(rates))
        found = [nanoseconds(one.get(f"{name}AvgLatencyMilliseconds") or "") for one in buckets]
        # An interval without I/O has a mean of 0.000 there, and none here.
        means = [
            (end, value)
            for (end, rate), value in zip(rates, found, strict=True)
            if value is not None and (rate or value)
        ]
        if means:
            yield ImportedSeries("latency_ns", name.lower(), interval_s, tuple(means))


def _cpus(found: Sequence[_Element]) -> tuple[ImportedCpu, ...]:
    """Return the rows of the CPUs, whose numbers count within their groups."""
    groups = [cpu.findtext("Group") or "0" for cpu in found]
    numbers = [cpu.findtext("Id") or "" for cpu in found]
    labels = [f"{group}/{number}" for group, number in zip(groups, numbers, strict=True)]
    if len(set(groups)) <= 1:
        labels = numbers
    return tuple(_cpu(cpu, label) for cpu, label in zip(found, labels, strict=True))


def _cpu(found: _Element, label: str) -> ImportedCpu:
    texts = {name: found.findtext(name) or "" for name in _PERCENTS}
    names = ("usage_percent", "user_percent", "kernel_percent", "idle_percent")
    shown = dict(zip(names, texts.values(), strict=True))
    usage, user, kernel, idle = (_number(found, name) for name in _PERCENTS)
    return ImportedCpu(label, usage, user, kernel, idle, texts=shown)


def _sum(span: _Element, name: str) -> int | None:
    found = [_whole(target, name) for target in span.findall("Thread/Target")]
    known = [value for value in found if value is not None]
    return sum(known) if known and len(known) == len(found) else None


def _number(element: _Element, name: str) -> float | None:
    text = element.findtext(name)
    return None if text is None else _finite(f"<{name}>", text)


def _attribute(element: _Element, name: str) -> float:
    return _finite(f"{element.tag} {name}", element.get(name) or "0")


def _finite(name: str, text: str) -> float:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or abs(found) > MOST_WHOLE:
        raise ImportFormatError(f"this XML is damaged: {name} is {text[:_SHOWN]!r}")
    return float(found)


def _whole(element: _Element, name: str) -> int | None:
    text = element.findtext(name)
    found = None if text is None else whole_number(text)
    if text is not None and found is None:
        raise ImportFormatError(f"this XML is damaged: <{name}> is {text[:_SHOWN]!r}")
    return found
