"""What happens in runs, read once and handed on to all who look.

One task follows each run's file of events; viewers get what it reads through queues of their own.
A viewer whose queue is full is dropped, and may come back: nobody waits for anybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fathom.web.processes import Process, Processes

__all__ = ["Figures", "Hub", "Look", "TooManyViewersError"]

_EVERY_S = 0.25
_PIECE_BYTES = 1 << 20
_HISTORY_SECONDS = 900
_QUEUE = 64
_MOST_VIEWERS = 200
_SHOWN = 20
_BEAT_S = 10.0
_KEPT = ("second", "ios", "bytes", "in_flight", "latency_octaves", "targets")


class TooManyViewersError(Exception):
    """More would cost the measurement something."""


@dataclass
class Figures:
    """What is known of a run while it is followed."""

    history: deque[dict[str, object]] = field(
        default_factory=lambda: deque(maxlen=_HISTORY_SECONDS)
    )
    state: dict[str, object] = field(default_factory=dict)
    runs: list[int] = field(default_factory=list)

    def take(self, event: dict[str, object]) -> None:
        """Take an event."""
        name = event.get("event")
        if name == "live":
            self.history.append(_compact(event))
        elif name == "phase_started":
            self._phase(event)
        elif name == "filling":
            self.state["filling"] = {
                key: event.get(key) for key in ("target", "done_bytes", "total_bytes")
            }
        elif name == "step_begun":
            self.state["step"] = event.get("label")
            self.state["experiment_id"] = event.get("experiment_id")
        elif name == "progress":
            self.state["progress"] = {
                key: event.get(key) for key in ("done", "expected", "failed", "remaining_s")
            }
        elif name == "saved":
            self._saved(event)
        elif name == "target_failed":
            self.state["failure"] = f"{event.get('target')}: {event.get('reason')}"

    def _phase(self, event: dict[str, object]) -> None:
        self.state.pop("filling", None)
        is_first = event.get("phase") == "warm_up" or self.state.get("phase") in (None, "ended")
        if is_first and self.state.get("phase") != "warm_up":
            self.state["run_began_at_unix_s"] = event.get("at_unix_s")
            self.state["planned_s"] = 0.0
        planned = float(str(self.state.get("planned_s", 0.0)))
        self.state["planned_s"] = planned + float(str(event.get("planned_ns", 0))) / 1e9
        self.state["phase"] = event.get("phase")

    def _saved(self, event: dict[str, object]) -> None:
        self.state["phase"] = "ended"
        number = event.get("run_id")
        if isinstance(number, int):
            self.runs = [*self.runs, number][-_SHOWN:]
        if event.get("experiment_id") is not None:
            self.state["experiment_id"] = event["experiment_id"]

    def told(self) -> dict[str, object]:
        """Return what stands beside the figures of the seconds."""
        return {**self.state, "run_ids": self.runs}


def _compact(event: dict[str, object]) -> dict[str, object]:
    found = {key: event.get(key) for key in _KEPT}
    for name in ("p50", "p99", "p999"):
        found[f"latency_ns_{name}"] = event.get(f"latency_ns_{name}")
    found["at_unix_s"] = event.get("at_unix_s")
    return found


class Look:
    """One who looks."""

    def __init__(self) -> None:
        """Begin with nothing waiting."""
        self.queue: asyncio.Queue[tuple[str, object] | None] = asyncio.Queue(_QUEUE)

    def put(self, name: str, content: object) -> bool:
        """Hand something on; false if the viewer is too slow."""
        try:
            self.queue.put_nowait((name, content))
        except asyncio.QueueFull:
            return False
        return True


class _Reader(NamedTuple):
    """Who reads the events of a run, and what tells it that the run has ended."""

    task: asyncio.Task[None]
    ended: asyncio.Event


class Hub:
    """Follows runs, and hands on what happens."""

    def __init__(self, processes: Processes) -> None:
        """Follow the runs of these."""
        self._processes = processes
        self._figures: dict[str, Figures] = {}
        self._readers: dict[str, _Reader] = {}
        self._viewers: set[Look] = set()
        self._told: dict[str, dict[str, object]] = {}
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._is_ending = False
        self.dropped = 0

    async def start(self) -> None:
        """Begin to follow."""
        await self._look_round()
        self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """End; what runs goes on."""
        for task in (self._task, *(one.task for one in self._readers.values())):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        self.let_go()

    def let_go(self) -> None:
        """Let all streams end, and begin no others: the server ends."""
        self._is_ending = True
        for viewer in self._viewers:
            _close(viewer)

    def hurry(self) -> None:
        """Look round now: something was started or stopped."""
        self._changed.set()

    @property
    def viewers(self) -> int:
        """How many look."""
        return len(self._viewers)

    @property
    def is_full(self) -> bool:
        """Whether nobody else may look."""
        return self._is_ending or len(self._viewers) >= _MOST_VIEWERS

    def figures_of(self, name: str) -> Figures | None:
        """Return what is known so far of a run that is followed, or was."""
        return self._figures.get(name)

    def figures_now(self, process: Process) -> Figures:
        """Return the same, but all of it if it has ended; this waits for the disk."""
        known = self._figures.get(process.id)
        if process.state == "running" or (known and process.id not in self._readers):
            return known or Figures()
        # Its last events may not have been read yet.
        figures = Figures()
        _read_all(process.folder / "events.jsonl", figures)
        return figures

    def told(self) -> list[dict[str, object]]:
        """Return the newest processes with what is known of each, without the seconds."""
        return [*self._told.values()]

    async def look(self) -> AsyncIterator[tuple[str, object]]:
        """Return what happens, with all that is known first.

        Raises
        ------
        TooManyViewersError
            If there are too many.

        """
        if self.is_full:
            raise TooManyViewersError
        viewer = Look()
        self._viewers.add(viewer)
        try:
            yield "processes", self.told()
            for name, figures in [*self._figures.items()]:
                if name in self._readers:
                    yield "history", {"id": name, "seconds": [*figures.history]}
            while True:
                try:
                    async with asyncio.timeout(_BEAT_S):
                        found = await viewer.queue.get()
                except TimeoutError:
                    found = ("beat", None)
                if found is None:
                    return
                yield found
        finally:
            self._viewers.discard(viewer)

    def _publish(self, name: str, content: object) -> None:
        for viewer in [*self._viewers]:
            if not viewer.put(name, content):
                self._viewers.discard(viewer)
                self.dropped += 1
                _close(viewer)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._changed.wait()
            self._changed.clear()
            # Whatever happens to one look, the next one comes.
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                await self._look_round()

    async def _look_round(self) -> None:
        found = await asyncio.to_thread(self._processes.list, limit=_SHOWN)
        for one in found:
            if one.state == "running" and one.id not in self._readers:
                self._figures[one.id] = figures = Figures()
                ended = asyncio.Event()
                reader = self._follow(one.id, one.folder / "events.jsonl", figures, ended)
                self._readers[one.id] = _Reader(asyncio.create_task(reader), ended)
            elif one.id not in self._figures:
                # It is known once all of it is.
                figures = Figures()
                await asyncio.to_thread(_read_all, one.folder / "events.jsonl", figures)
                self._figures[one.id] = figures
        for one in found:
            if one.state != "running" and (reader_ := self._readers.get(one.id)) is not None:
                reader_.ended.set()
                await asyncio.wait([reader_.task])
                # Only now all of it has been read.
                del self._readers[one.id]
        known = {one.id for one in found}
        self._figures = {name: one for name, one in self._figures.items() if name in known}
        told = {one.id: self._as_told(one) for one in found}
        if told != self._told:
            self._told = told
            self._publish("processes", self.told())

    def _as_told(self, process: Process) -> dict[str, object]:
        figures = self._figures.get(process.id, Figures())
        found: dict[str, object] = {
            "id": process.id,
            "verb": process.verb,
            "command": process.command,
            "user": process.user,
            "state": process.state,
            "exit_code": process.exit_code,
            "started_at_unix_s": process.started_at_unix_s,
            "ended_at_unix_s": process.ended_at_unix_s,
            **figures.told(),
        }
        if process.state in ("failed", "refused", "lost"):
            found["errors"] = process.errors()[-2000:]
        return found

    async def _follow(self, name: str, path: Path, figures: Figures, ended: asyncio.Event) -> None:
        """Read a file of events as it grows, to its end, and hand its seconds on."""
        at, rest = 0, b""
        while True:
            # All events were written before the run had ended.
            is_last = ended.is_set()
            piece = await asyncio.to_thread(_piece, path, at)
            at += len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            seconds = [event for line in lines if (event := _event(line)) is not None]
            for event in seconds:
                # What a process that was killed left half written is left out.
                with contextlib.suppress(ValueError, TypeError):
                    figures.take(event)
                if event.get("event") == "live":
                    self._publish("second", {"id": name, **_compact(event)})
                elif event.get("event") in ("saved", "phase_started", "step_begun"):
                    self._changed.set()
            if len(rest) > _PIECE_BYTES:
                rest = b""
            if len(piece) < _PIECE_BYTES:
                if is_last:
                    return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_EVERY_S):
                        await ended.wait()


def _close(viewer: Look) -> None:
    """Let a viewer's stream end, whatever still waits in it."""
    while viewer.queue.full():
        viewer.queue.get_nowait()
    viewer.queue.put_nowait(None)


def _piece(path: Path, at: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read(_PIECE_BYTES)
    except OSError:
        return b""


def _event(line: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read_all(path: Path, figures: Figures) -> None:
    """Read the events of a run that has ended."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        for line in file:
            event = _event(line)
            if event is not None:
                with contextlib.suppress(ValueError, TypeError):
                    figures.take(event)
