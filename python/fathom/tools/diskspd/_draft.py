"""A result of DiskSpd's text while it is being read, and what it becomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from fathom.imported.model import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedResult,
    ImportedRow,
)
from fathom.tools._lines import nanoseconds
from fathom.tools.diskspd._read_load import Settings, command_settings
from fathom.tools.diskspd._tables import WHAT, percent_of

__all__ = ["Draft", "Head", "started_s", "with_percentiles"]

ORIGIN = "diskspd-text"
_ENDS = (0.0, 100.0)
_SHOWN = ("read", "write", "total")


@dataclass
class Head:
    """What stands before the results: the command line, and the parameters of each time span."""

    command_line: str = ""
    spans: dict[int, Settings] = field(default_factory=dict)
    host: Settings = field(default_factory=Settings)
    system: dict[str, str] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    is_used: bool = False

    def span(self, number: int) -> Settings:
        """Return the parameters of a time span, counted from 1."""
        return self.spans.setdefault(number, Settings())


@dataclass
class Draft:
    """What was read of one time span's result."""

    head: Head
    span: int
    lines: list[int] = field(default_factory=list)
    measured_s: float | None = None
    threads: int | None = None
    is_interrupted: bool = False
    begun: set[str] = field(default_factory=set)
    directions: dict[str, ImportedDirection] = field(default_factory=dict)
    rows: list[ImportedRow] = field(default_factory=list)
    places: dict[tuple[str, str, int], int] = field(default_factory=dict)
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    sizes: dict[str, str] = field(default_factory=dict)
    percentiles: dict[str, dict[str, str]] = field(default_factory=dict)
    cpus: list[ImportedCpu] = field(default_factory=list)
    cpu_average: ImportedCpu | None = None
    more: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def tells_anything(self) -> bool:
        """Whether it has a figure, or says that there is none."""
        return bool(self.directions) or self.is_interrupted or self.measured_s is not None

    def add_row(self, label: str, target: str, name: str, found: ImportedDirection) -> None:
        """Add a direction to the row of a thread and a target.

        A target that was given twice has two rows for each thread, in each table in this order.
        """
        key = (label, target, name)
        self.counts[key] += 1
        known = self.places.setdefault((label, target, self.counts[key]), len(self.rows))
        if known == len(self.rows):
            self.rows.append(ImportedRow(label, target, {}))
        row = self.rows[known]
        self.rows[known] = replace(row, directions={**row.directions, name: found})

    def finished(self) -> ImportedResult:
        """Return the result."""
        settings, told = self.head.span(self.span), command_settings(self.head.command_line)
        load = settings.load(told)
        if load.threads is None or self.threads is not None:
            load = replace(load, threads=self.threads or load.threads)
        found = {name: self._direction(name) for name in (*_SHOWN, "sync", "trim")}
        if found["total"] is None:
            found["total"] = self._only_direction(found, load.write_percent)
        if cut := [name for name in _SHOWN if name in self.begun and name not in self.directions]:
            tables = " and ".join(f"{name.capitalize()} IO" for name in cut)
            self.notes.append(f"{tables}: the source ends, or is damaged, before the total.")
        system = self.head.system
        first, last = min(self.lines), max(self.lines)
        if first > max(self.head.lines, default=first) and self.span == 1:
            first = min(self.head.lines)
        return ImportedResult(
            origin=ORIGIN,
            tool="Fathom diskspd" if "Engine" in self.more else "DiskSpd",
            tool_version="",
            title=self.head.command_line,
            command_line=self.head.command_line,
            time_stamp_unix_s=started_s(system.get("start time", "")),
            host_name=system.get("computer name", ""),
            measured_s=self.measured_s,
            load=load,
            targets=settings.targets(told, self.sizes),
            read=found["read"],
            write=found["write"],
            total=found["total"],
            sync=found["sync"],
            trim=found["trim"],
            cpus=tuple(self.cpus),
            cpu_average=self.cpu_average,
            rows=tuple(self.rows),
            complete=not self.is_interrupted,
            options=settings.more | self.head.host.more | system | self.more,
            notes=tuple(self.notes),
            lines=(first, last),
        )

    def _direction(self, name: str) -> ImportedDirection | None:
        found = self.directions.get(name)
        shares = self.percentiles.get(name)
        return with_percentiles(found, shares) if found and shares else found

    def _only_direction(
        self, found: dict[str, ImportedDirection | None], write_percent: float | None
    ) -> ImportedDirection | None:
        """Return the reads of a source that shows reads alone, if nothing but reads was asked."""
        for name, percent in (("read", 0.0), ("write", 100.0)):
            others = [one for one in _SHOWN[:2] if one != name and found[one]]
            if found[name] is not None and not others and write_percent == percent:
                self.notes.append(
                    f"The source shows {name}s alone; by its settings there was nothing else."
                )
                return found[name]
        return None


def with_percentiles(found: ImportedDirection, texts: dict[str, str]) -> ImportedDirection:
    """Return a direction with a column of percentiles, whose texts are milliseconds."""
    latency = found.latency or ImportedLatency(WHAT, found.ios)
    known = {label: nanoseconds(text) for label, text in texts.items()}
    shares = {
        percent: value
        for label, value in known.items()
        if value is not None and (percent := percent_of(label)) is not None
    }
    if not shares or not found.ios:
        return replace(found, texts={**found.texts, **texts})
    latency = replace(
        latency,
        min_ns=known.get("min"),
        max_ns=known.get("max"),
        percentiles_ns={share: one for share, one in shares.items() if share not in _ENDS},
    )
    return replace(found, latency=latency, texts={**found.texts, **texts})


def started_s(text: str) -> float | None:
    """Return the start, which DiskSpd prints from 2.0.21 on, in UTC."""
    try:
        found = datetime.strptime(text, "%Y/%m/%d %H:%M:%S UTC").replace(tzinfo=UTC)
    except ValueError:
        return None
    return found.timestamp()
