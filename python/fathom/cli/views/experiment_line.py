"""How far an experiment is, on the terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import typer

from fathom import _packages
from fathom._events_file import listen
from fathom.cli.views import drawing
from fathom.cli.views.plain import plain, unguarded
from fathom.cli.views.progress import RunProgress
from fathom.units import clock_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress as Bars

    from fathom.experiments.progress import Progress

__all__ = ["ExperimentLine", "experiment_line", "left_words"]


@contextmanager
def experiment_line(noun: str, *, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Return what shows the progress of an experiment's runs, or nothing if ``quiet``."""
    if quiet:
        yield lambda _progress: None
        return
    with ExperimentLine(noun) as line:
        yield line.tell


class ExperimentLine:
    """A bar with the time that is left; where the error output is no terminal, a line now and then.

    The bar counts what has been run.
    """

    def __init__(self, noun: str) -> None:
        """Draw on the error output, so that results alone go to the standard output.

        ``noun`` is what is counted, such as ``cells``.
        """
        terminal = _packages.Console(file=unguarded(sys.stderr))
        self._noun = noun
        self._told = 0
        self._bars: Bars | None = None
        self._stop = listen(None)
        if terminal.is_terminal and not terminal.is_dumb_terminal:
            self._bars = drawing.whole_progress(terminal)
            self._task = self._bars.add_task("the first", total=None, figures=[])

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._bars is not None:
            self._bars.start()
            # Beneath the bar of the experiment, the run that is under way.
            self._stop = listen(RunProgress(self._bars))
        return self

    def __exit__(self, *_reason: object) -> None:
        """Remove the bar."""
        self._stop()
        if self._bars is not None:
            self._bars.stop()

    def tell(self, progress: Progress) -> None:
        """Show how far it is, and what failed."""
        figures = [
            f"{progress.done} of about {progress.expected:.0f} {self._noun}",
            f"{left_words(progress)} left",
        ]
        if progress.failure is not None:
            typer.echo(f"{progress.label} failed: {progress.failure}", err=True)
        if self._bars is not None:
            self._bars.update(
                self._task,
                description=plain(progress.label),
                completed=progress.done,
                total=progress.expected,
                figures=figures,
            )
        elif progress.done * 10 // max(round(progress.expected), 1) > self._told:
            self._told = progress.done * 10 // max(round(progress.expected), 1)
            typer.echo(", ".join(figures), err=True)


def left_words(progress: Progress) -> str:
    """Return the time that is left; where it is not well known, between what it lies."""
    low_s, high_s = progress.remaining_low_s, progress.remaining_high_s
    if low_s is None or high_s is None or clock_words(low_s) == clock_words(high_s):
        return clock_words(progress.remaining_s)
    if low_s <= 0:
        return f"at most {clock_words(high_s)}"
    return f"{clock_words(low_s)} to {clock_words(high_s)}"
