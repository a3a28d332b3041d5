"""From what sources tell to rows, events in order, and moves."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.clusters.model import ClusterReport, ResourceRow, ResourceState
from fathom.clusters.moves import CLOCKS_S, is_of_role, moves_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fathom.clusters.model import Found, Kind, ResourceEvent

__all__ = ["report_of"]

# Two readings of one event, of the log and of crm_mon, which knows whole seconds alone.
_SAME_S = 1.5
_OF_EVENTS: dict[Kind, str] = {
    "online": "Online",
    "offline": "Offline",
    "degraded": "Degraded",
    "failed": "Failed",
    "node lost": "Unknown",
}


def report_of(
    found: Sequence[Found], *, since_unix_s: float | None = None, groups_only: bool = False
) -> ClusterReport:
    """Return a report of all sources; what happened before ``since`` is left out.

    ``groups_only`` gives one row for each group, as a whole.
    """
    kinds = {name: kind for one in found for name, kind in one.types.items()}
    states = _states(found)
    groups = {
        (one.cluster, one.resource): one.group
        for source in found
        for one in source.events
        if one.group and one.resource
    } | {(one.cluster, one.resource): one.group for one in states if one.resource}
    events = _events(found, groups)
    rows = _rows(kinds, states, events, since_unix_s, groups_only=groups_only)
    shown = tuple(one for one in events if since_unix_s is None or one.at_unix_s >= since_unix_s)
    moves = tuple(
        one
        for one in moves_of(events, kinds)
        if since_unix_s is None or one.ended_unix_s >= since_unix_s
    )
    return ClusterReport(tuple(rows), shown, moves, since_unix_s)


def _states(found: Sequence[Found]) -> list[ResourceState]:
    """Return the states that are known, the last one of each.

    What was so when an earlier report was written is so no more where others tell of it.
    """
    latest: dict[tuple[str, str, str, str], ResourceState] = {}
    for one in (state for source in found if source.earlier is None for state in source.states):
        is_copy = one.status in ("Started", "Promoted", "Unpromoted")
        latest[one.cluster, one.group, one.resource, one.node if is_copy else ""] = one
    states = list(latest.values())
    for source in reversed([one for one in found if one.earlier is not None]):
        newer = {_thing(one) for one in states}
        states += [one for one in source.states if _thing(one) not in newer]
    return states


def _thing(state: ResourceState) -> tuple[str, ...]:
    """Return what tells a resource, or a group as a whole, from others."""
    whole = (state.cluster, state.group)
    return (state.cluster, "", state.resource) if state.resource else whole


def _events(found: Sequence[Found], groups: dict[tuple[str, str], str]) -> list[ResourceEvent]:
    """Return all events in their order, each once, with the group of each resource."""
    everything = sorted(
        (
            one if one.group or not one.resource else _of_group(one, groups)
            for source in found
            for one in source.events
        ),
        # What is known to a millisecond goes before what is known to a second.
        key=lambda one: one.at_unix_s,
    )
    kept: list[ResourceEvent] = []
    last: dict[tuple[str | bool, ...], int] = {}
    for one in everything:
        # Within one second a copy starts, and is promoted.
        key = (one.cluster, one.group, one.resource, one.node, one.kind, is_of_role(one))
        at = last.get(key)
        if at is not None and _is_same(kept[at], one):
            if kept[at].at_unix_s == int(kept[at].at_unix_s):
                kept[at] = one
            continue
        last[key] = len(kept)
        kept.append(one)
    return sorted(kept, key=lambda one: one.at_unix_s)


def _of_group(event: ResourceEvent, groups: dict[tuple[str, str], str]) -> ResourceEvent:
    """Return what happened to a resource with its group; logs may number the copies of one."""
    name = event.resource
    plain = name.split(":", maxsplit=1)[0]
    if (event.cluster, name) not in groups and (event.cluster, plain) in groups:
        name = plain
    return replace(event, resource=name, group=groups.get((event.cluster, name), name))


def _is_same(before: ResourceEvent, one: ResourceEvent) -> bool:
    """Whether two events are one that was told twice: of whole seconds, or by several nodes."""
    if one.at_unix_s - before.at_unix_s > _SAME_S:
        return False
    is_coarse = any(other.at_unix_s == int(other.at_unix_s) for other in (before, one))
    return is_coarse or one.kind == "node lost" or one.at_unix_s == before.at_unix_s


def _rows(
    kinds: dict[str, str],
    states: Sequence[ResourceState],
    events: Sequence[ResourceEvent],
    since_unix_s: float | None,
    *,
    groups_only: bool,
) -> list[ResourceRow]:
    known = {(one.cluster, one.group, one.resource) for one in states}
    told = dict.fromkeys(
        (one.cluster, one.group, one.resource)
        for one in events
        if one.group and (one.cluster, one.group, one.resource) not in known
    )
    # Of a group whose resources are known, what happened to it as a whole is in their rows.
    whole = {(cluster, group) for cluster, group, resource in (*known, *told) if resource}
    of_group: dict[tuple[str, str], list[ResourceEvent]] = defaultdict(list)
    for event in events:
        of_group[event.cluster, event.group].append(event)
    made = [*states, *(_latest(*key, of_group[key[:2]]) for key in told)]
    if groups_only:
        made = _of_groups(made)
    else:
        made = [one for one in made if one.resource or (one.cluster, one.group) not in whole]
    copies = Counter(_thing(one) for one in made)
    rows = [
        _row(
            kinds,
            one,
            of_group[one.cluster, one.group],
            since_unix_s,
            is_copy=copies[_thing(one)] > 1,
        )
        for one in made
    ]
    return sorted(rows, key=lambda one: (one.cluster, one.group, one.resource, one.node))


def _latest(
    cluster: str, group: str, resource: str, events: Sequence[ResourceEvent]
) -> ResourceState:
    """Return the state that the events of a group tell."""
    # A group that comes online has all of its resources online.
    last = _last([one for one in events if one.resource in ("", resource)])
    return ResourceState(cluster, group, resource, last.node, _OF_EVENTS[last.kind])


def _last(events: Sequence[ResourceEvent]) -> ResourceEvent:
    """Return the event that says how a resource is: a stop where it has left already is none."""
    last, left = events[0], set[str]()
    for one in events:
        if one.kind == "online":
            left.discard(one.node)
        is_elsewhere = last.kind == "online" and last.node != one.node
        has_left = one.node in left or one.at_unix_s - last.at_unix_s <= CLOCKS_S
        if one.kind == "offline":
            left.add(one.node)
            if is_elsewhere and has_left:
                continue
        last = one
    return last


def _of_groups(states: Iterable[ResourceState]) -> list[ResourceState]:
    """Return one state for each group: its own, or that of the resource that is worst."""
    by_group: dict[tuple[str, str], list[ResourceState]] = defaultdict(list)
    for one in states:
        by_group[one.cluster, one.group].append(one)
    found = []
    for mine in by_group.values():
        own = [one for one in mine if not one.resource]
        row = ResourceRow("", "", "", "", "", "")
        bad = [one for one in mine if replace(row, status=one.status).is_bad]
        chosen = (own or bad or mine)[0]
        found.append(replace(chosen, resource=""))
    return found


def _row(
    kinds: dict[str, str],
    state: ResourceState,
    events: Sequence[ResourceEvent],
    since_unix_s: float | None,
    *,
    is_copy: bool,
) -> ResourceRow:
    mine = [
        one
        for one in events
        if (not state.resource or one.resource in ("", state.resource))
        and (not is_copy or one.node == state.node)
        and (since_unix_s is None or one.at_unix_s >= since_unix_s)
    ]
    last = {one.kind: one.at_unix_s for one in mine}
    return ResourceRow(
        cluster_type=kinds.get(state.cluster, ""),
        cluster=state.cluster,
        group=state.group,
        resource=state.resource,
        node=state.node,
        status=state.status,
        last_online_unix_s=last.get("online"),
        last_offline_unix_s=last.get("offline"),
        last_degraded_unix_s=last.get("degraded"),
        last_error_unix_s=last.get("failed"),
    )
