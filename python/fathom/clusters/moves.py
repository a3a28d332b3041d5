"""From events to moves: what went from one node to another, when it left and when it was there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fathom.clusters.model import Move
from fathom.clusters.pacemaker import PACEMAKER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.clusters.model import ResourceEvent

__all__ = ["CLOCKS_S", "is_of_role", "moves_of"]

# What is down for longer was stopped, and started elsewhere: nobody knows how long it moved.
_MOVE_S = 3600.0
# The other resources of a group follow the first; a node is lost before or behind what it stops.
_FOLLOWS_S = 60.0
# By so much the clocks of two nodes may differ: a start stands before the stop that it followed.
CLOCKS_S = 1.5
_ROLES = ("promote:", "demote:")
# Behind one that failed, what was begun is stopped where the resource was not before.
_BEGINS = ("start:", "promote:", "migrate_from:", "probe:")


def moves_of(events: Sequence[ResourceEvent], kinds: Mapping[str, str]) -> list[Move]:
    """Return the moves of groups, each from when its first part left to when its last was there.

    ``kinds`` has the type of each cluster.
    """
    by_group: dict[tuple[str, str], list[ResourceEvent]] = defaultdict(list)
    lost: dict[str, list[ResourceEvent]] = defaultdict(list)
    for one in events:
        if one.kind == "node lost":
            lost[one.cluster].append(one)
        elif one.group:
            by_group[one.cluster, one.group].append(one)
    found = []
    for (cluster, group), mine in by_group.items():
        # Of what has roles, its promoted copy moves; the others are everywhere.
        roles = [one for one in mine if is_of_role(one)]
        track = _Track(cluster, group, has_copies=kinds.get(cluster) == PACEMAKER)
        for one in sorted([*(roles or mine), *lost[cluster]], key=lambda one: one.at_unix_s):
            track.take(one)
        found += track.moves
    return sorted(found, key=lambda one: one.ended_unix_s)


def is_of_role(event: ResourceEvent) -> bool:
    """Whether a copy changed its role, which it does where it is."""
    return event.text.startswith(_ROLES)


class _Track:
    """Where a group is, and from where it went.

    With ``has_copies`` it may be on several nodes at once, and moves only if it left one. Windows
    has no copies.
    """

    def __init__(self, cluster: str, group: str, *, has_copies: bool) -> None:
        """Begin nowhere."""
        self.moves: list[Move] = []
        self._names = cluster, group
        self._has_copies = has_copies
        self._here: set[str] = set()
        self._is_seen = False
        self._failed: set[str] = set()
        self._copied: dict[str, float] = {}
        self._stopped: dict[str, float] = {}
        self._lost: dict[str, float] = {}

    def take(self, event: ResourceEvent) -> None:
        """Go on to the next event."""
        node, at_s = event.node, event.at_unix_s
        if event.kind == "online":
            self._came(node, at_s)
        elif event.kind == "failed" and event.text.startswith(_BEGINS):
            self._failed.add(node)
        elif node in self._here or node in self._stopped or node in self._lost:
            if event.kind == "offline" and not self._has_gone(node, at_s):
                self._stopped.setdefault(node, at_s)
            elif event.kind == "node lost" and at_s - self._lost.get(node, -inf) > _FOLLOWS_S:
                # Each of the others says so, within moments.
                self._lost[node] = at_s
            if event.kind in ("offline", "node lost"):
                self._here.discard(node)
        elif event.kind == "offline" and not self._is_seen and node not in self._failed:
            # Older logs have its start.
            self._stopped[node] = at_s

    def _has_gone(self, node: str, at_s: float) -> bool:
        """Whether it went to where it came to just before, by a clock that is ahead."""
        copied = self._copied.items()
        new = [one for one, s in copied if at_s - s <= CLOCKS_S and one in self._here]
        if node not in self._here or node in new or not new:
            return False
        came_s = self._copied.pop(new[-1])
        self.moves.append(Move(*self._names, "", node, new[-1], came_s, came_s))
        return True

    def _came(self, node: str, at_s: float) -> None:
        self._is_seen = True
        left = self._left_s()
        last = self.moves[-1] if self.moves else None
        if node in self._here:
            if last and node == last.to_node and at_s - last.ended_unix_s <= _FOLLOWS_S:
                self.moves[-1] = replace(last, ended_unix_s=at_s)
            return
        others = left or ({} if self._has_copies else dict.fromkeys(self._here, at_s))
        if node not in left and others:
            origin = max(others, key=lambda one: others[one])
            began_s = others[origin] if at_s - others[origin] <= _MOVE_S else at_s
            self.moves.append(Move(*self._names, "", origin, node, began_s, at_s))
            self._forget(origin)
        elif node not in left and self._here:
            self._copied[node] = at_s
        self._forget(node)
        self._here = {*self._here, node} if self._has_copies else {node}

    def _left_s(self) -> dict[str, float]:
        """Return when it left each node: as it was stopped there, or was lost right before."""
        found = dict(self._lost)
        for node, stopped_s in self._stopped.items():
            lost_s = found.get(node, stopped_s)
            found[node] = lost_s if 0 <= stopped_s - lost_s <= _FOLLOWS_S else stopped_s
        return found

    def _forget(self, node: str) -> None:
        self._stopped.pop(node, None)
        self._lost.pop(node, None)
