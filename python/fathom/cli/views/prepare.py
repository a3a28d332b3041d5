"""Preparing on the terminal: how far it is, what it will take, what it did."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from fathom import _packages
from fathom.cli.views import drawing
from fathom.cli.views.plain import plain, unguarded
from fathom.experiments.figure_words import check_words
from fathom.units import MIB, clock_words, size_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom.experiments.prepare import (
        Estimate,
        Filled,
        FleetFill,
        Look,
        Progress,
        Settled,
        Written,
    )

__all__ = [
    "estimate_sentences",
    "show_filled",
    "show_fleet_filled",
    "show_look",
    "show_settled",
    "show_written",
    "writing_progress",
]

# Where the error output is no terminal, a line for each so many percent.
_TOLD_PERCENT = 10


def show_look(found: Look) -> None:
    """Say what a target holds."""
    kind = "device" if found.target.is_device else "file"
    typer.echo(f"{found.target.path}: {kind} of {size_words(found.target.size_bytes)}")
    for sentence in found.sentences:
        typer.echo(f"  {sentence}")


def progress_words(one: Progress) -> str:
    """Return how far it is: bytes, rate, and the time that is left."""
    return ", ".join(_progress_parts(one))


def _progress_parts(one: Progress) -> list[str]:
    parts = [f"{size_words(one.done_bytes)} of {size_words(one.total_bytes)}"]
    if one.rate_bytes_per_s is not None:
        parts.append(f"{one.rate_bytes_per_s / MIB:,.1f} MiB/s")
    return parts if one.remaining_s is None else [*parts, f"{clock_words(one.remaining_s)} left"]


@contextmanager
def writing_progress(what: str, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Return what draws how far writing is: a bar, or a line for each tenth of it."""
    terminal = _packages.Console(file=unguarded(sys.stderr))
    if quiet:
        yield lambda _progress: None
        return
    if not terminal.is_terminal:
        yield _Lines(what).tell
        return
    with drawing.whole_progress(terminal) as bars:
        task = bars.add_task(plain(what), total=None, figures=[])
        yield lambda one: bars.update(
            task, total=one.total_bytes, completed=one.done_bytes, figures=_progress_parts(one)
        )


class _Lines:
    def __init__(self, what: str) -> None:
        self._what = what
        self._told = 0

    def tell(self, one: Progress) -> None:
        tenths = 100 * one.done_bytes // max(one.total_bytes, 1) // _TOLD_PERCENT
        if tenths > self._told:
            self._told = tenths
            typer.echo(f"{self._what}: {progress_words(one)}", err=True)


def show_filled(found: Filled, store_name: str) -> None:
    """Say what was written, and what reading it back tells."""
    rate = f" at {found.mib_per_s:,.1f} MiB/s" if found.session_bytes else ""
    typer.echo(f"{found.path}: {size_words(found.session_bytes)} written{rate}")
    earlier = found.total_bytes - found.session_bytes
    if not found.total_bytes:
        typer.echo("  Nothing was missing.")
    elif earlier and found.failure is None:
        typer.echo(f"  {size_words(earlier)} had been written before.")
    if found.left_bytes:
        typer.echo(
            f"  {size_words(found.left_bytes)} hold nothing in gaps of less than 64 KiB, too many "
            "to fill one by one: fill all of it, without --only-missing."
        )
    if found.check is not None and found.check.compress_ratio is not None:
        ratio = found.check.compress_ratio
        dedupe = found.check.dedupe_ratio
        between = "" if ratio.low == ratio.high else f" ({ratio.low:.2f} to {ratio.high:.2f})"
        typer.echo(
            f"  Read back: compresses {ratio.value:.2f} to 1{between}, asked {_asked(found)[0]}; "
            f"deduplicates {'-' if dedupe is None else f'{dedupe:.2f}'} to 1, asked "
            f"{_asked(found)[1]}; zeros {100 * found.check.zero_share.value:.2f} %."
        )
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store_name}")


def show_fleet_filled(found: FleetFill, store_name: str) -> None:
    """Say what became of the file of each host; what hosts share is one file."""
    said = {"made": "made", "replaced": "made again", "kept": "kept, as it is complete"}
    for file in found.files:
        what = said[file.fate] if found.failure is None else "not known to be complete"
        words = f"{size_words(file.size_bytes)}, {what}"
        typer.echo(f"{', '.join(file.hosts)}: {file.path}: {words}")
    if found.failure is None:
        written = sum(file.written_bytes for file in found.files)
        typer.echo(f"{size_words(written)} written in {clock_words(found.elapsed_s)}")
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store_name}")


def _asked(found: Filled) -> tuple[str, str]:
    return f"{found.compress_ratio:.2f}", f"{found.dedupe_ratio:.2f}"


def estimate_sentences(one: Estimate) -> list[str]:
    """Return what preconditioning takes, in words; what is not known is said to be so."""
    if one.most_bytes is None or one.least_bytes is None:
        written = "How much is written depends on the rate (--rate MIB tells it)."
    elif one.least_bytes == one.most_bytes:
        written = f"{size_words(one.most_bytes)} are written."
    else:
        written = f"{size_words(one.least_bytes)} to {size_words(one.most_bytes)} are written."
    sentences = [written, _time_sentence(one)]
    most = "" if one.least_bytes == one.most_bytes else "at most "
    if one.most_bytes is not None and one.drive_writes is not None:
        sentences.append(
            f"That is {most}{one.drive_writes:.3g} drive writes, as the host counts them; what the "
            "drive itself moves comes on top."
        )
    if one.endurance_share is not None:
        sentences.append(
            f"It takes {most}{100 * one.endurance_share:.3g} % of the rated endurance."
        )
    elif one.most_bytes:
        sentences.append("What share of the endurance that is, --tbw tells (see the data sheet).")
    return sentences


def _time_sentence(one: Estimate) -> str:
    if one.least_s is None or one.most_s is None:
        return "The time is not known before the first second (--rate MIB tells it)."
    source = "" if one.rate_source is None else f" ({one.mib_per_s:,.0f} MiB/s: {one.rate_source})"
    if one.least_s == one.most_s:
        return f"It takes about {clock_words(one.most_s)}{source}."
    return f"It takes {clock_words(one.least_s)} to {clock_words(one.most_s)}{source}."


def show_written(found: Written, path: str, store_name: str) -> None:
    """Say what was written."""
    rate = "" if found.mib_per_s is None else f" at {found.mib_per_s:,.1f} MiB/s"
    typer.echo(f"{path}: {size_words(found.session_bytes)} written{rate}, twice its size in all")
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store_name}")


def show_settled(found: Settled, store_name: str) -> None:
    """Say whether the SNIA's rule was kept, and what our own test says of all rounds."""
    checks = found.steady.checks if found.steady is not None else {}
    kept = found.steady is not None and found.steady.is_steady
    words = (
        f"is kept in round {found.rounds}" if kept else f"is not kept after {found.rounds} rounds"
    )
    typer.echo(f"The SNIA's rule of steady state {words}{':' if checks else '.'}")
    for name, check in checks.items():
        typer.echo(f"  {check_words(name, check)}")
    for name, judged in found.steadiness.items():
        typer.echo(f"All {found.rounds} rounds, {name}: {judged.words}.")
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store_name}")
