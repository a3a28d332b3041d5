"""Targets that are one file under two names, or that lie on one device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.units import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.assess.session import TargetCells

__all__ = ["one_device", "one_target", "shared_devices"]

_WHAT = {"scratch": "folder", "file": "file", "device": "device", "network": "file of one host"}
_PAIR = 2


def one_target(plans: Sequence[TargetCells], names: Sequence[str], places: Sequence[int]) -> str:
    """Return the headline where all these targets are one and the same; else nothing."""
    found = {plans[at].target.identity for at in places}
    if len(places) < _PAIR or len(found) > 1 or not all(found):
        return ""
    words = listed([names[at] for at in places])
    return (
        f"No comparison: {words} are one {_WHAT[plans[places[0]].target.kind]}, so that what "
        "differs between them is noise."
    )


def one_device(plans: Sequence[TargetCells], names: Sequence[str], places: Sequence[int]) -> str:
    """Return what the headline adds where all these targets lie on one device; else nothing."""
    shared = [
        device for device, who in _shared([plans[at] for at in places]) if len(who) == len(places)
    ]
    if not shared or len(places) < _PAIR or one_target(plans, names, places):
        return ""
    return f" They lie on one device ({shared[0]}): these are places on it, not devices."


def shared_devices(plans: Sequence[TargetCells], names: Sequence[str]) -> list[str]:
    """Say which targets are one, and which lie on one device, as notes."""
    notes = []
    by_identity: dict[str, list[int]] = {}
    for at, one in enumerate(plans):
        if one.target.identity:
            by_identity.setdefault(one.target.identity, []).append(at)
    same = [places for places in by_identity.values() if len(places) > 1]
    for places in same:
        words = listed([names[at] for at in places])
        what = _WHAT[plans[places[0]].target.kind]
        notes.append(f"{words} are one {what}: what differs between them is noise.")
    for device, who in _shared(plans):
        if [*who] not in same:
            words = listed([names[at] for at in who])
            notes.append(f"{words} lie on one device, {device}: they share what it can do.")
    return notes


def _shared(plans: Sequence[TargetCells]) -> list[tuple[str, tuple[int, ...]]]:
    """Return the devices beneath several targets: of each set of targets the topmost."""
    above: dict[str, list[int]] = {}
    for at, one in enumerate(plans):
        for device in _devices(one):
            above.setdefault(device, []).append(at)
    found: dict[tuple[int, ...], str] = {}
    for device, who in above.items():
        if len(who) > 1:
            found.setdefault(tuple(who), device)
    return [(device, who) for who, device in found.items()]


def _devices(plan: TargetCells) -> list[str]:
    """Return the names of the block devices beneath a target, the topmost first."""
    for one in plan.done():
        spans = [] if one.result is None else one.result.raw["time_spans"]
        layers = (spans[0].get("beneath") or {}).get("layers", ()) if spans else ()
        if layers:
            names = [layer["name"] for layer in layers if layer["kind"] != "file_system"]
            return list(dict.fromkeys(names))
    return []
