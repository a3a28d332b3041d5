"""What is known of cluster resources: events, states, and the rows that are made of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fathom.errors import FathomError

__all__ = [
    "COLUMNS",
    "ClusterError",
    "ClusterReport",
    "EmptySourceError",
    "Found",
    "Kind",
    "Move",
    "ResourceEvent",
    "ResourceRow",
    "ResourceState",
]

Kind = Literal["online", "offline", "degraded", "failed", "node lost"]
KINDS: tuple[Kind, ...] = ("online", "offline", "degraded", "failed", "node lost")

COLUMNS = (
    "ClusterType",
    "ClusterName",
    "ResourceGroup",
    "Resource",
    "ServerName",
    "ResourceStatus",
    "LastOnline",
    "LastOffline",
    "LastDegraded",
    "LastError",
)
"""The columns of a report, in this order, by the names that scripts know."""


class ClusterError(FathomError):
    """A file that tells nothing of a cluster, or cannot be read."""


class EmptySourceError(ClusterError):
    """A file that holds nothing, as a log has nothing when it was just rotated."""


@dataclass(frozen=True)
class ResourceEvent:
    """Something that happened to a resource, a group or a node, in seconds since 1970.

    ``resource`` is empty of what happened to a group as a whole, and both are of a node.
    """

    cluster: str
    group: str
    resource: str
    node: str
    kind: Kind
    at_unix_s: float
    text: str = ""


@dataclass(frozen=True)
class ResourceState:
    """How a resource, or a group if ``resource`` is empty, is now."""

    cluster: str
    group: str
    resource: str
    node: str
    status: str


@dataclass
class Found:
    """What one source tells.

    ``earlier`` has the type of each cluster of a report that was written before; what it says of a
    resource now holds only where nothing newer tells of it. ``unread`` says what could not be read
    beside it, and why.
    """

    cluster_type: str
    cluster: str
    states: list[ResourceState] = field(default_factory=list)
    events: list[ResourceEvent] = field(default_factory=list)
    earlier: dict[str, str] | None = None
    unread: list[str] = field(default_factory=list)

    @property
    def types(self) -> dict[str, str]:
        """The type of each of its clusters."""
        return {self.cluster: self.cluster_type} if self.earlier is None else self.earlier


@dataclass(frozen=True)
class ResourceRow:
    """A row of the report; times are in seconds since 1970, None if it never happened."""

    cluster_type: str
    cluster: str
    group: str
    resource: str
    node: str
    status: str
    last_online_unix_s: float | None = None
    last_offline_unix_s: float | None = None
    last_degraded_unix_s: float | None = None
    last_error_unix_s: float | None = None

    @property
    def is_bad(self) -> bool:
        """Whether it is not as it should be now, or failed or degraded in the time looked at."""
        is_down = self.status.lower() not in _GOOD
        return is_down or bool(self.last_error_unix_s or self.last_degraded_unix_s)


_GOOD = frozenset(
    {"started", "online", "promoted", "unpromoted", "master", "slave", "stopped (disabled)"}
)


@dataclass(frozen=True)
class Move:
    """A resource or group that went from one node to another, from its last to its first second."""

    cluster: str
    group: str
    resource: str
    from_node: str
    to_node: str
    began_unix_s: float
    ended_unix_s: float


@dataclass(frozen=True)
class ClusterReport:
    """All that is reported of some clusters."""

    rows: tuple[ResourceRow, ...]
    events: tuple[ResourceEvent, ...]
    moves: tuple[Move, ...]
    since_unix_s: float | None = None

    @property
    def bad(self) -> tuple[ResourceRow, ...]:
        """The rows that need somebody."""
        return tuple(one for one in self.rows if one.is_bad)
