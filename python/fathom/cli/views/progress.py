"""Live progress on the terminal, where there is one: of each run, and of each of its targets.

A terminal that moves no cursor (``TERM=dumb``) gets a line now and then instead.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict, deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from fathom import _packages
from fathom.cli.views import drawing
from fathom.cli.views.plain import plain, unguarded
from fathom.units import MIB, NS_PER_MS, NS_PER_S, clock_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.progress import Progress, TaskID

    from fathom import EventCallback

    _Fields = Mapping[str, Any]

__all__ = ["RunLines", "RunProgress", "live_progress", "sparkline"]

_BARS = "".join(map(chr, range(0x2581, 0x2589)))  # From one eighth of a block to a full one.
_SPARKS = 20
_LINE_EVERY_S = 5.0
_PHASES = {"warm_up": "warm-up", "measured": "measuring", "cool_down": "cool-down"}


@contextmanager
def live_progress(*, quiet: bool = False) -> Iterator[EventCallback | None]:
    """Return a callback for the events of runs, or None if nobody looks.

    It draws on the error output, so that the result alone goes to the standard output.
    """
    terminal = _packages.Console(file=unguarded(sys.stderr))
    if quiet or not terminal.is_terminal:
        yield None
        return
    if terminal.is_dumb_terminal:
        yield RunLines()
        return
    with drawing.whole_progress(terminal, tells_time=True) as progress:
        yield RunProgress(progress, draws_blocks=_has_blocks(terminal.encoding))


def _has_blocks(encoding: str) -> bool:
    try:
        _BARS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def sparkline(values: Sequence[float]) -> str:
    """Return values as bars of a line of text, each beside the greatest."""
    most = max(values, default=0)
    if most <= 0:
        return ""
    last = len(_BARS) - 1
    return "".join(_BARS[min(last, int(value / most * len(_BARS)))] for value in values)


def _figures(second: _Fields) -> list[str]:
    """Return what a line has of one second, of all targets or of one."""
    found = [f"{second['ios']:,} IOPS", f"{second['bytes'] / MIB:,.1f} MiB/s"]
    if second["ios"]:
        p50, p99 = (second[f"latency_ns_{name}"] / NS_PER_MS for name in ("p50", "p99"))
        found += [f"p50 {p50:.3f} ms", f"p99 {p99:.3f} ms"]
    return found


def _lost_words(host: str, why: str) -> str:
    return f"host '{host}' was lost: {why}"


class RunLines:
    """Tells the events of runs as lines, for a terminal that can do no more."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        self._told_s = float("-inf")

    def __call__(self, name: str, fields: _Fields) -> None:
        """Tell an event, unless one was told a short while ago."""
        now = time.monotonic()
        if name == "host_lost":
            typer.echo(f"  {_lost_words(**fields)}", err=True)
        if name != "live" or now - self._told_s < _LINE_EVERY_S:
            return
        self._told_s = now
        words = ", ".join(_figures(fields))
        typer.echo(f"  {clock_words(fields['second'])}: {words}", err=True)


class RunProgress:
    """Draws the events of one run after the other."""

    def __init__(self, progress: Progress, *, draws_blocks: bool = True) -> None:
        """Draw here; sparklines only where the terminal has their characters."""
        self._bars = progress
        self._task: TaskID | None = None
        self._filling: dict[str, TaskID] = {}
        self._targets: dict[str, TaskID] = {}
        self._hosts: dict[str, TaskID] = {}
        self._planned_s = 0.0
        self._draws_blocks = draws_blocks
        self._rates: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_SPARKS))

    def __call__(self, name: str, fields: _Fields) -> None:
        """Draw an event."""
        looks: dict[str, Callable[..., None]] = {
            "filling": self._fill,
            "phase_started": self._phase_started,
            "live": self._live,
            "host_live": self._host_live,
            "host_lost": self._host_lost,
            "finished": self._finished,
        }
        if name in looks:
            looks[name](**fields)

    def _filling_of(self, target: str, total_bytes: int) -> TaskID:
        if target not in self._filling:
            self._filling[target] = self._bars.add_task(
                plain(f"filling {target}"), total=total_bytes, figures=[]
            )
        return self._filling[target]

    def _fill(self, target: str, done_bytes: int, total_bytes: int) -> None:
        task = self._filling_of(target, total_bytes)
        figures = [f"{done_bytes // MIB} of {total_bytes // MIB} MiB"]
        self._bars.update(task, completed=done_bytes, figures=figures)

    def _phase_started(self, time_span: int, phase: str, planned_ns: int) -> None:
        words = _PHASES[phase] if time_span == 0 else f"{_PHASES[phase]}, time span {time_span + 1}"
        if self._task is None:
            self._planned_s = 0.0
            self._task = self._bars.add_task(words, total=None, figures=[])
        self._planned_s += planned_ns / NS_PER_S
        self._bars.update(self._task, description=words, total=self._planned_s)

    def _live(self, **second: Any) -> None:  # noqa: ANN401 - Whatever the event has.
        if self._task is None:
            return
        figures = [*_figures(second), self._spark("", second["ios"])]
        self._bars.update(self._task, completed=second["second"], figures=figures)
        for one in second.get("targets", ()):
            name = one["target"]
            if name not in self._targets:
                words = plain(name)
                self._targets[name] = self._bars.add_task(words, total=None, figures=[])
            figures = [*_figures(one), self._spark(name, one["ios"])]
            self._bars.update(self._targets[name], figures=figures)

    def _spark(self, name: str, ios: float) -> str:
        self._rates[name].append(ios)
        return sparkline(self._rates[name]) if self._draws_blocks else ""

    def _host_lost(self, host: str, why: str) -> None:
        self._bars.print(plain(_lost_words(host, why)))

    def _host_live(self, host: str, **second: Any) -> None:  # noqa: ANN401 - Whatever the event has.
        if host not in self._hosts:
            self._hosts[host] = self._bars.add_task(plain(host), total=None, figures=[])
        figures = [*_figures(second), self._spark(f"host {host}", second["ios"])]
        self._bars.update(
            self._hosts[host], total=self._planned_s, completed=second["second"], figures=figures
        )

    def _finished(self, time_span: int) -> None:
        del time_span
        shown = (*self._filling.values(), *self._targets.values(), *self._hosts.values())
        for task in (self._task, *shown):
            if task is not None:
                self._bars.remove_task(task)
        self._task = None
        self._filling, self._targets, self._hosts = {}, {}, {}
        self._rates.clear()
