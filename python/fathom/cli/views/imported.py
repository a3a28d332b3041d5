"""Imported results as tables for the terminal: the source's own digits, where it is text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.cli.views.runs import console, facts_table, number_cell, plain_text, text_table
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from fathom.imported import ImportedCpu, ImportedDirection, ImportedResult

__all__ = ["show_imported"]

_PERCENTS = (50.0, 95.0, 99.0, 99.9)
_NAMES = ("read", "write", "total", "sync", "trim")


def show_imported(result: ImportedResult) -> None:
    """Print the figures, the CPU rows and the notes of an imported result."""
    terminal = console()
    columns = ("", "IOPS>", "MiB/s>", "mean ms>", "std ms>", "p50 ms>", "p95 ms>", "p99 ms>")
    rows = [
        [name, *_cells(found)]
        for name in _NAMES
        if (found := getattr(result, name)) is not None and (name in _NAMES[:3] or found.ios)
    ]
    terminal.print(text_table(result.title, (*columns, "p99.9 ms>", "max ms>"), rows))
    cpus = [*result.cpus, *([result.cpu_average] if result.cpu_average else [])]
    if cpus:
        names = ("CPU", "usage %>", "user %>", "kernel %>", "idle %>")
        terminal.print(text_table("", names, [_cpu_cells(cpu) for cpu in cpus]))
    if result.options:
        terminal.print(facts_table("Settings", result.options))
    for note in result.notes:
        terminal.print(plain_text(f"Note: {note}"), soft_wrap=True)


def _cells(found: ImportedDirection) -> list[str]:
    texts = found.texts
    rates = [
        texts.get("iops") or number_cell(found.iops, 2),
        texts.get("mib_per_s") or number_cell(found.mib_per_s, 2),
    ]
    latency = found.latency
    if latency is None:
        return [*rates, *("-" for _ in range(7))]
    percentiles = [latency.percentiles_ns.get(percent) for percent in _PERCENTS]
    values = [latency.mean_ns, latency.std_ns, *percentiles, latency.max_ns]
    return [*rates, *(number_cell(one, 3, NS_PER_MS) for one in values)]


def _cpu_cells(cpu: ImportedCpu) -> list[str]:
    names = ("usage_percent", "user_percent", "kernel_percent", "idle_percent")
    return [
        cpu.label,
        *(cpu.texts.get(name) or number_cell(getattr(cpu, name), 2) for name in names),
    ]
