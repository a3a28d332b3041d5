"""Results as tables for the terminal."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from fathom import _packages
from fathom._load_words import load_words
from fathom._local_time import local_words
from fathom._text import without_secrets
from fathom.cli.views import drawing
from fathom.cli.views.plain import plain, unguarded
from fathom.cli.views.stop import stop_sentences
from fathom.cli.views.whole_table import WholeColumn, WholeTable
from fathom.hosts import host_figures, lost_sentence, overlap_sentence
from fathom.units import NS_PER_MS, counted, ms_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from fathom import Direction, Latency, Result, TimeSpan
    from fathom.hosts import HostFigures
    from fathom.result import Warning_
    from fathom.store import RunSummary

__all__ = [
    "console",
    "facts_table",
    "local_time",
    "number_cell",
    "plain_text",
    "runs_table",
    "show_result",
    "text_table",
]

_LATENCY_COLUMNS = ("mean ms", "p50 ms", "p99 ms", "p99.9 ms", "max ms")
_KINDS = ("read", "write", "total")
# Wide enough for every row, where the output goes to a file or another program: a line each.
_WIDTH_OF_A_PIPE = 10_000


def console() -> Console:
    """Return the terminal, or a wide one in its place."""
    file = unguarded(sys.stdout)
    found = drawing.WholeConsole(file=file)
    if not found.is_terminal:
        return drawing.WholeConsole(file=file, width=_WIDTH_OF_A_PIPE)
    if not found.is_dumb_terminal:
        return found
    # Rich takes one that moves no cursor to have 80 columns, whatever it has.
    columns, lines = shutil.get_terminal_size()
    return drawing.WholeConsole(file=file, width=columns, height=lines)


def plain_text(words: str, style: str = "") -> _packages.Text:
    """Return words in which nothing is markup, nor a command to the terminal."""
    return _packages.Text(plain(without_secrets(words)), style=style)


def text_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Sequence[str]],
    *,
    spare: Sequence[str] = (),
    caption: str = "",
) -> WholeTable:
    """Return a table of plain text.

    Columns whose title ends with ``>`` are numbers; with ``~``, names that may be shortened; with
    ``=``, words that stay on one line. No terminal is too narrow for it: columns that are ``spare``
    are left out, the first one first, or each row becomes a block.
    """
    is_terminal = console().is_terminal
    # What another program cuts at spaces has something in each column.
    nothing, line_feed = ("", "\n") if is_terminal else ("-", "\\n")
    return WholeTable(
        columns=[
            WholeColumn(
                plain_text(one.rstrip(">~=")).plain,
                is_number=one.endswith(">"),
                is_whole=one.endswith("="),
                is_name=one.endswith("~") and is_terminal,
                is_text=one.endswith("~") and len(one) > 1,
            )
            for one in columns
        ],
        rows=[
            [
                plain_text((cell or nothing).replace("\n", line_feed).replace("\t", "    ")).plain
                for cell in row
            ]
            for row in rows
        ],
        title=plain_text(title).plain,
        caption=plain_text(caption).plain,
        spare=spare,
        is_boxed=is_terminal,
    )


def show_result(result: Result) -> None:
    """Print a result's tables and warnings."""
    terminal = console()
    for number, span in enumerate(result.time_spans, start=1):
        if span.measured_ns:
            # What stands before its heading would be read of the span that was shown last.
            terminal.print(plain_text(f"Time span {number}", style="italic"), soft_wrap=True)
            for origin in span.origins:
                if origin.headline:
                    terminal.print(plain_text(origin.headline, style="bold"), soft_wrap=True)
            terminal.print(_span_table(span))
            for sentence in stop_sentences(span):
                terminal.print(plain_text(sentence), soft_wrap=True)
    if hosts := host_figures(result):
        terminal.print(_hosts_table(hosts))
        if words := overlap_sentence(result):
            terminal.print(plain_text(words), soft_wrap=True)
        for host in (one for one in hosts if one.lost is not None):
            told = plain_text(f" {lost_sentence(host, hosts)}")
            terminal.print(plain_text("Warning:", style="bold") + told, soft_wrap=True)
    for warning in result.warnings:
        about = _about(warning, len(result.time_spans))
        sentences = plain_text(f"{about} {warning.evidence} {warning.remedy}")
        terminal.print(plain_text("Warning:", style="bold") + sentences, soft_wrap=True)


def _about(warning: Warning_, spans: int) -> str:
    """Return what a warning is about: its time span, if there are several, and its target."""
    is_of_one = warning.time_span is not None and spans > 1
    span = f"time span {(warning.time_span or 0) + 1}" if is_of_one else ""
    words = ", ".join(filter(None, (span, warning.target)))
    return f" {words}:" if words else ""


def _hosts_table(hosts: Sequence[HostFigures]) -> WholeTable:
    """Return a row for each host of a fleet; the slowest is marked, and why one was lost."""
    rates = [one.total.iops for one in hosts if one.total is not None and one.lost is None]
    rows = []
    for one in hosts:
        total = one.total
        latency = None if total is None else total.latency
        slowest = total is not None and bool(rates) and total.iops == min(rates) < max(rates)
        skew_ns = one.start_skew_ns
        rows.append(
            [
                one.name,
                "-" if total is None else f"{total.iops:,.0f}",
                "-" if total is None else f"{total.mib_per_s:,.2f}",
                "-" if latency is None else ms_words(latency.quantile_ns(0.99)),
                "-" if skew_ns is None else f"{skew_ns / NS_PER_MS:.3f}",
                f"lost: {one.lost}" if one.lost else "the slowest" if slowest else "",
            ]
        )
    columns = ("host", "IOPS>", "MiB/s>", "p99 ms>", "skew ms>", "note")
    return text_table(counted(len(hosts), "host"), columns, rows)


def _span_table(span: TimeSpan) -> WholeTable:
    """Return the figures of a time span, and response times where I/Os had a schedule."""
    paced = span.total.response is not None
    caption = "" if span.cpu_percent is None else f"CPU {span.cpu_percent:.1f} %"
    if paced:
        caption += "; response times count from the scheduled start of each I/O"
    rows = []
    for name in _KINDS:
        direction: Direction = getattr(span, name)
        rates = (f"{direction.iops:,.0f}", f"{direction.mib_per_s:,.2f}")
        rows.append((name, *rates, *_cells(direction.latency)))
        if paced:
            rows.append(("  response", "-", "-", *_cells(direction.response)))
    for name, others in (("sync", span.sync), ("trim", span.trim)):
        # They are counted apart, and most runs have none.
        if others.ios:
            rates = (f"{others.iops:,.0f}", f"{others.mib_per_s:,.2f}" if others.bytes else "-")
            rows.append((name, *rates, *_cells(others.latency)))
    columns = ("", "IOPS>", "MiB/s>", *(f"{one}>" for one in _LATENCY_COLUMNS))
    spare = ("p99.9 ms", "p50 ms")
    return text_table("", columns, rows, spare=spare, caption=caption)


def _cells(latency: Latency | None) -> list[str]:
    if latency is None:
        return ["-" for _ in _LATENCY_COLUMNS]
    values_ns = [
        latency.mean_ns,
        *(latency.quantile_ns(quantile) for quantile in (0.5, 0.99, 0.999)),
        latency.max_ns,
    ]
    return [ms_words(value) for value in values_ns]


def local_time(unix_s: float | None) -> str:
    """Return an instant in this machine's time zone, ``-`` if it is unknown."""
    return "-" if unix_s is None else local_words(unix_s)


def facts_table(title: str, facts: Mapping[str, object]) -> WholeTable:
    """Return names and values, without those that nobody knows."""
    known = [(name, str(value)) for name, value in facts.items() if value not in (None, "")]
    return text_table(title, ("", "~"), known)


def runs_table(runs: Iterable[RunSummary]) -> WholeTable:
    """Return one line for each run."""
    columns = ("run>", "started", "label~", "outcome", "load=", "IOPS>", "MiB/s>", "mean ms>")
    rows = [_run_cells(run) for run in runs]
    spare = ("mean ms", "MiB/s", "started", "label", "outcome")
    return text_table("", (*columns, "p99 ms>", "target~"), rows, spare=spare)


def _run_cells(run: RunSummary) -> list[str]:
    columns = run.columns
    return [
        str(run.id),
        local_time(run.started_at_unix_s),
        run.label,
        run.outcome if columns["origin"] == "native" else f"{run.outcome} ({columns['origin']})",
        load_words(columns),
        number_cell(columns["total_iops"], 0),
        number_cell(columns["total_mib_per_s"], 2),
        number_cell(columns["total_latency_mean_ns"], 3, NS_PER_MS),
        number_cell(columns["total_latency_p99_ns"], 3, NS_PER_MS),
        columns["target_path"] or "",
    ]


def number_cell(value: float | None, digits: int, unit: float = 1) -> str:
    """Return a figure in a unit, or a dash where there is none."""
    return "-" if value is None else f"{value / unit:,.{digits}f}"
