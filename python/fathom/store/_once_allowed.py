"""What plans of earlier versions have kept of permissions: a note, which allows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._permission import allows, options_and_names

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["permissions_in", "without_permissions_in"]

# What the plans of preparations had, by the names of its fields.
_LEAVE = "leave"


def permissions_in(kept: object) -> Iterator[str]:
    """Return all words of a plan that once allowed something."""
    if isinstance(kept, str):
        yield from [kept] if allows(kept) else []
    elif isinstance(kept, dict):
        leave = kept.get(_LEAVE)
        if isinstance(leave, dict):
            yield from ["--overwrite"] if leave.get("overwrite") else []
            device = leave.get("allow_write")
            yield from [f"--allow-write={device}"] if isinstance(device, str) else []
        for one in kept.values():
            yield from permissions_in(one)
    elif isinstance(kept, list | tuple):
        options, _ = options_and_names(kept)
        for one in options:
            yield from permissions_in(one)


def without_permissions_in(kept: Any) -> Any:  # noqa: ANN401 - JSON.
    """Return a plan without what once allowed something in its lists of arguments."""
    if isinstance(kept, dict):
        return {key: without_permissions_in(one) for key, one in kept.items() if key != _LEAVE}
    if isinstance(kept, list):
        options, names = options_and_names(kept)
        return [
            *(without_permissions_in(one) for one in options if not _is_permission(one)),
            *names,
        ]
    return kept


def _is_permission(one: object) -> bool:
    return isinstance(one, str) and allows(one)
