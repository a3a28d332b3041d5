"""Columns of live progress that never show a part of a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from fathom.cli.views.whole_table import fitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["whole_progress"]

_BAR_COLUMNS = 20
# Below it a bar would take the room of percentiles, or the time left that of the rate.
_WIDTH_FOR_BARS, _WIDTH_FOR_TIME = 100, 60
_LEFT_OUT = "..."
# More often nobody reads, and each takes time from what is measured.
_UPDATES_PER_S = 5


class _Fitting:
    """Parts of a line, of which as many are shown as there is room for."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = [one for one in parts if one]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        del console, options
        return Measurement(0, cell_len("  ".join(self._parts)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        yield Text(fitting(self._parts, options.max_width))


class _Ending:
    """A name, of which the end is shown where there is no room for all of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        del console
        return Measurement(0, min(cell_len(self._name), options.max_width // 3))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        shown, rest = self._name, self._name
        while rest and cell_len(shown) > options.max_width:
            # No number begins in its middle.
            rest = rest[1:].lstrip("0123456789")
            shown = _LEFT_OUT + rest
        yield Text(shown, no_wrap=True)


class _Words(ProgressColumn):
    """What is drawn."""

    def render(self, task: Task) -> _Ending:
        return _Ending(task.description)


class _Figures(ProgressColumn):
    """The figures of a task, each whole, the first ones before the others."""

    def render(self, task: Task) -> _Fitting:
        return _Fitting(task.fields["figures"])


def whole_progress(terminal: Console, *, tells_time: bool = False) -> Progress:
    """Return bars whose tasks have ``figures``, a list of texts, with the time left if asked."""
    columns: list[ProgressColumn] = [_Words()]
    # On a narrow terminal the figures come first.
    if terminal.width >= _WIDTH_FOR_BARS:
        columns.append(BarColumn(bar_width=_BAR_COLUMNS))
    if tells_time and terminal.width >= _WIDTH_FOR_TIME:
        columns.append(TimeRemainingColumn(table_column=Column(no_wrap=True)))
    return Progress(
        *columns,
        _Figures(),
        console=terminal,
        transient=True,
        refresh_per_second=_UPDATES_PER_S,
    )
