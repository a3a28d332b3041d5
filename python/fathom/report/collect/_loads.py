"""What loads ask for, so that only those that are the same are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._asked import options_of_load

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["asked_settings"]

# Where a target is, and what it was made with, is no part of the load.
_NO_LOAD = ("path", "create_bytes", "hints")


def asked_settings(request: Mapping[str, Any]) -> dict[str, object]:
    """Return all settings of the load of a request in its JSON form, by their names."""
    spans = request["profile"]["time_spans"]
    if not spans:
        return {}
    targets = spans[0]["targets"]
    found = {name: spans[0].get(name) for name in ("thread_count", "request_count")}
    found["number_of_targets"] = len(targets)
    for number, target in enumerate(targets):
        before = f"target {number + 1}." if len(targets) > 1 else ""
        mine = _flat(target)
        if mine.get("access.align_bytes") == mine.get("block_bytes"):
            # It is what the block is, unless somebody asks for another.
            mine.pop("access.align_bytes", None)
        found |= {f"{before}{name}": one for name, one in mine.items()}
    return found | options_of_load(request)


def _flat(target: Mapping[str, Any], before: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in target.items():
        if name in _NO_LOAD:
            continue
        if isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found
