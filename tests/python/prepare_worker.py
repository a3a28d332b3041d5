"""What the tests of preparing share: a simulated disk that counts bytes, and a fathom to kill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import commands
from commands import COMMAND
from fathom.runners import Figures, RunOutcome

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

__all__ = ["MIB", "SMALL_PIECES", "Disk", "Killed", "command", "figures"]

MIB = 1 << 20
# The command, with pieces that are small enough for a test.
_PIECES = (
    "from fathom.experiments.prepare import _pieces; "
    "_pieces._LEAST_PIECE_BYTES = 1 << 20;_pieces._PIECES = 64"
)
SMALL_PIECES = f"{_PIECES}; {COMMAND[2]}"


def command(*args: str) -> subprocess.CompletedProcess[str]:
    """Run ``fathom`` with such pieces."""
    return commands.command(*args, before=_PIECES)


class Killed(BaseException):
    """The process is gone: nothing of it catches this."""


def figures(iops: float, mib_per_s: float, measured_s: float) -> Figures:
    """Return figures of a run without latencies."""
    return Figures(iops, mib_per_s, None, measured_s, None, None, None, None, None, None, None)


@dataclass
class Disk:
    """Takes the place of the engine: notes what is written where, at 100 MiB/s.

    ``dies_at`` is the run in which the process is killed; ``short_at`` one that writes half.
    """

    dies_at: int = 0
    short_at: int = 0
    now_s: float = 0.0
    runs: list[tuple[int, int, str]] = field(default_factory=list)
    arguments: list[list[str]] = field(default_factory=list)

    def clock(self) -> float:
        """Return its own clock."""
        return self.now_s

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Write."""
        del label, experiment_id, step_id
        if self.dies_at and len(self.runs) + 1 == self.dies_at:
            self.dies_at = 0
            raise Killed
        options = {one[:2]: one[2:] for one in arguments if not one.startswith("--")}
        start, size = (int(one) for one in options["-B"].split(":"))
        self.runs.append((start, size, options["-b"]))
        self.arguments.append([*arguments])
        seconds = size / (100 * MIB)
        self.now_s += seconds
        if len(self.runs) == self.short_at:
            size //= 2
        return RunOutcome(None, figures(size, size / MIB / seconds, seconds), None)

    def times_written(self, capacity: int, unit: int = 512) -> set[int]:
        """Return how often units of the capacity were written: each number that there is."""
        counts = bytearray(-(-capacity // unit))
        for start, size, _ in self.runs:
            for one in range(start // unit, -(-(start + size) // unit)):
                counts[one] += 1
        return set(counts)
