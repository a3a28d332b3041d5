"""How far the clock of another host is ahead, known from round trips."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["ClockOffset", "best_offset", "compare_clocks"]

ROUND_TRIPS = 10


@dataclass(frozen=True)
class ClockOffset:
    """A host's clock less ours, and how far that may be off: half of the round trip."""

    offset_ns: int
    uncertainty_ns: int

    @classmethod
    def of_round_trip(cls, sent_ns: int, host_ns: int, received_ns: int) -> ClockOffset:
        """Return what one round trip tells: the host answered at some time within it."""
        middle_ns = (sent_ns + received_ns) // 2
        return cls(host_ns - middle_ns, max(0, received_ns - sent_ns + 1) // 2)

    def there_ns(self, here_ns: int) -> int:
        """Return what the host's clock shows at an instant of ours."""
        return here_ns + self.offset_ns

    def here_ns(self, there_ns: int) -> int:
        """Return what our clock shows at an instant of the host's."""
        return there_ns - self.offset_ns

    def moved_ns(self, later: ClockOffset) -> int:
        """Return how far the host's clock moved; 0 if that may be an error of looking alone."""
        moved_ns = later.offset_ns - self.offset_ns
        is_seen = abs(moved_ns) > self.uncertainty_ns + later.uncertainty_ns
        return moved_ns if is_seen else 0


def best_offset(found: list[ClockOffset]) -> ClockOffset:
    """Return the one of the shortest round trip, in which the least can have happened."""
    return min(found, key=lambda one: one.uncertainty_ns)


async def compare_clocks(ask: Callable[[], Awaitable[int]]) -> ClockOffset:
    """Compare our clock with the one that ``ask`` reads, in nanoseconds since 1970."""
    found = []
    for _ in range(ROUND_TRIPS):
        sent_ns = time.time_ns()
        host_ns = await ask()
        found.append(ClockOffset.of_round_trip(sent_ns, host_ns, time.time_ns()))
    return best_offset(found)
