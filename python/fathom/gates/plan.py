"""Gates from ``fathom.toml``, which stands in the repository whose storage is measured."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import TYPE_CHECKING

from fathom._toml import read_toml
from fathom.errors import InvalidRequestError
from fathom.gates.gate import gate_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fathom.gates.gate import Gate

__all__ = ["FILE", "find_gate_file", "read_gates"]

FILE = "fathom.toml"
_KEYS: dict[str, tuple[type, ...]] = {
    "require": (list,),
    "baseline": (str,),
    "label": (str,),
    "confidence": (int, float),
    "any_load": (bool,),
}
_TYPES = {
    "require": "a list of texts",
    "confidence": "a number of percent",
    "any_load": "a boolean",
}


def find_gate_file(folder: Path) -> Path | None:
    """Return ``fathom.toml`` of a folder, or of one above it in the same repository of git."""
    for one in (folder, *folder.parents):
        if (one / FILE).is_file():
            return one / FILE
        if (one / ".git").exists():
            return None
    return None


def read_gates(path: Path) -> list[Gate]:
    """Return the gates of a file: ``[gate]``, if it has limits, and each ``[gate.NAME]`` in it.

    What ``[gate]`` says of baseline, confidence and loads holds in those, too, unless they differ.

    Raises
    ------
    InvalidRequestError
        If the file cannot be read, or holds anything else than gates should.

    """
    try:
        read = read_toml(path)
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InvalidRequestError(f"{path} is no TOML: {error}") from error
    whole = read.get("gate")
    if not isinstance(whole, dict) or not whole:
        raise InvalidRequestError(f"{path} has no table [gate] with require = ['p99<2ms']")
    try:
        return _gates(whole)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{path}: {error}") from error


def _gates(whole: Mapping[str, object]) -> list[Gate]:
    own = {name: one for name, one in whole.items() if not isinstance(one, dict)}
    shared = {name: one for name, one in own.items() if name not in ("require", "label")}
    named = {name: one for name, one in whole.items() if isinstance(one, dict)}
    found = [_gate(name, {**shared, **one}) for name, one in named.items()]
    # Without limits of its own, it only says what holds for those within.
    return [_gate("gate", own), *found] if "require" in own or not found else found


def _gate(name: str, keys: Mapping[str, object]) -> Gate:
    for key, value in keys.items():
        _check(name, key, value)
    limits = keys.get("require", [])
    percent = keys.get("confidence", 95)
    return gate_of(
        [str(one) for one in limits] if isinstance(limits, list) else [],
        name=name,
        baseline=_text(keys.get("baseline")),
        label=_text(keys.get("label")),
        confidence=_share(percent),
        any_load=keys.get("any_load") is True,
    )


def _check(name: str, key: str, value: object) -> None:
    if key not in _KEYS:
        meant = get_close_matches(key, _KEYS, n=1)
        hint = f"did you mean {meant[0]}?" if meant else f"there are {', '.join(_KEYS)}"
        raise InvalidRequestError(f"gate {name} has no key {key!r}; {hint}")
    is_flag = isinstance(value, bool) and key != "any_load"
    is_right = isinstance(value, _KEYS[key]) and not is_flag
    if isinstance(value, list):
        is_right = is_right and all(isinstance(one, str) for one in value)
    if not is_right:
        raise InvalidRequestError(f"gate {name}: {key} has to be {_TYPES.get(key, 'a text')}")


def _share(percent: object) -> float:
    try:
        return percent / 100 if isinstance(percent, int | float) else 0.0
    except OverflowError:
        # A whole number of TOML may be any.
        return math.inf


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
