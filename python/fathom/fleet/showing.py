"""Who is in a fleet, and what is to be known of each host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.fleet.session import FleetSession

if TYPE_CHECKING:
    from fathom.fleet.address import FleetAddress

__all__ = ["ShownHost", "shown_hosts"]


@dataclass(frozen=True)
class ShownHost:
    """A host of a fleet; ``state`` is ``free``, who uses it, or why it does not answer.

    The clock of one that does not answer is not known.
    """

    name: str
    address: str
    version: str
    kernel: str
    clock_offset_ns: int | None
    clock_uncertainty_ns: int | None
    state: str


def shown_hosts(fleet: FleetAddress) -> list[ShownHost]:
    """Return all hosts, also those of other versions and those that do not answer.

    Raises
    ------
    FathomError
        If the coordinator cannot be used.

    """
    with FleetSession(fleet, only_looks=True) as session:
        return [
            ShownHost(
                name=one.name,
                address=one.address.partition("://")[2],
                version=one.hello.get("version", ""),
                kernel=one.hello.get("kernel", ""),
                clock_offset_ns=None if one.lost else one.clock.offset_ns,
                clock_uncertainty_ns=None if one.lost else one.clock.uncertainty_ns,
                state=one.lost or _use(one.hello.get("busy", "")),
            )
            for one in session.hosts
        ]


def _use(busy: str) -> str:
    return f"used by {busy}" if busy else "free"
