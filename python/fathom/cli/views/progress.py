"""Live progress on the terminal, where there is one."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fathom.cli.views.plain import plain, unguarded
from fathom.units import MIB, NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, TaskID

    from fathom import EventCallback

__all__ = ["RunProgress", "live_progress"]

_PHASES = {"warm_up": "warm-up", "measured": "measuring", "cool_down": "cool-down"}


@contextmanager
def live_progress(*, quiet: bool = False) -> Iterator[EventCallback | None]:
    """Return a callback for the events of runs, or None if nobody looks.

    It draws on the error output, so that the result alone goes to the standard output.
    """
    from rich.console import Console  # noqa: PLC0415 - Help draws nothing.

    from fathom.cli.views.whole_progress import whole_progress  # noqa: PLC0415 - Help draws nothing.

    terminal = Console(file=unguarded(sys.stderr))
    if quiet or not terminal.is_terminal:
        yield None
        return
    with whole_progress(terminal, tells_time=True) as progress:
        yield RunProgress(progress)


class RunProgress:
    """Draws the events of one run after the other."""

    def __init__(self, progress: Progress) -> None:
        """Draw here."""
        self._progress = progress
        self._task: TaskID | None = None
        self._filling: dict[str, TaskID] = {}
        self._hosts: dict[str, TaskID] = {}
        self._planned_s = 0.0

    def __call__(self, name: str, fields: dict[str, Any]) -> None:
        """Draw an event."""
        look = getattr(self, {"filling": "_fill"}.get(name, f"_{name}"), None)
        if look is not None:
            look(**fields)

    def _filling_of(self, target: str, total_bytes: int) -> TaskID:
        if target not in self._filling:
            self._filling[target] = self._progress.add_task(
                plain(f"filling {target}"), total=total_bytes, figures=[]
            )
        return self._filling[target]

    def _fill(self, target: str, done_bytes: int, total_bytes: int) -> None:
        task = self._filling_of(target, total_bytes)
        figures = [f"{done_bytes // MIB} of {total_bytes // MIB} MiB"]
        self._progress.update(task, completed=done_bytes, figures=figures)

    def _phase_started(self, time_span: int, phase: str, planned_ns: int) -> None:
        words = _PHASES[phase] if time_span == 0 else f"{_PHASES[phase]}, time span {time_span + 1}"
        if self._task is None:
            self._planned_s = 0.0
            self._task = self._progress.add_task(words, total=None, figures=[])
        self._planned_s += planned_ns / NS_PER_S
        self._progress.update(self._task, description=words, total=self._planned_s)

    def _live(self, second: int, ios: int, bytes: int, **more: int) -> None:  # noqa: A002
        if self._task is None:
            return
        figures = [
            f"{ios:,} IOPS",
            f"{bytes / MIB:,.1f} MiB/s",
            f"p99 {more['latency_ns_p99'] / NS_PER_MS:.3f} ms",
        ]
        self._progress.update(self._task, completed=second, figures=figures)

    def _host_live(self, host: str, second: int, ios: int, bytes: int, **more: int) -> None:  # noqa: A002
        if host not in self._hosts:
            self._hosts[host] = self._progress.add_task(plain(host), total=None, figures=[])
        figures = [
            f"{ios:,} IOPS",
            f"{bytes / MIB:,.1f} MiB/s",
            f"p99 {more['latency_ns_p99'] / NS_PER_MS:.3f} ms",
        ]
        self._progress.update(
            self._hosts[host], total=self._planned_s, completed=second, figures=figures
        )

    def _finished(self, time_span: int) -> None:
        del time_span
        for task in (self._task, *self._filling.values(), *self._hosts.values()):
            if task is not None:
                self._progress.remove_task(task)
        self._task = None
        self._filling = {}
        self._hosts = {}
