"""A fleet on this machine, for trying it: within this process, and without any port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.fleet.coordinator import Coordinator
from fathom.fleet.member import ENDED, Member
from fathom.hosts import local_host

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LocalFleet"]


class LocalFleet:
    """A coordinator and hosts, each of which has its own measuring process."""

    def __init__(self) -> None:
        """Have nobody yet."""
        self._coordinator: Coordinator | None = None
        self._members: Sequence[Member] = ()

    async def start(self, hosts: int) -> str:
        """Start, and return the coordinator's address."""
        # What is spoken within a process can be reached from nowhere else.
        self._coordinator = await Coordinator(protocol="inproc://")
        self._members = [
            await Member(self._coordinator.address, name=local_host(number), protocol="inproc://")
            for number in range(1, hosts + 1)
        ]
        return str(self._coordinator.address)

    async def end(self) -> None:
        """End all of them."""
        for member in self._members:
            await member.close(reason=ENDED)
        if self._coordinator is not None:
            await self._coordinator.close(reason="the fleet ends")
