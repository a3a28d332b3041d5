"""What DiskSpd arguments ask for, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom.engine import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["RUN_OPTIONS", "Load", "read_load"]

RUN_OPTIONS = (
    "--engine",
    "--rate",
    "--arrivals",
    "--skew",
    "--verify",
    "--verify-journal",
    "--polled",
    "--sqpoll",
    "--overwrite",
    "--allow-write",
    "--protect",
    "--explain",
    "--json",
    "--live",
)
"""The settings of one invocation that are no part of a profile (``RunOptions`` of the engine)."""

_LONG = re.compile(r"(--[a-z-]+)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Load:
    """A profile, and the settings beside it.

    Attributes
    ----------
    arguments
        Those that it was read from.
    profile
        As ``fathom.parse`` returns it.
    options
        The settings that are no part of a profile, by their names, such as ``--skew``.

    """

    arguments: tuple[str, ...]
    profile: Mapping[str, Any]
    options: Mapping[str, str]


def read_load(arguments: Sequence[str]) -> Load:
    """Read DiskSpd arguments; no target is touched.

    Raises
    ------
    InvalidRequestError
        If they are wrong; the message names each fault.

    """
    profile = parse(arguments)
    found = [_LONG.fullmatch(one) for one in arguments if one.startswith("--")]
    options = {one[1]: one[2] or "" for one in found if one and one[1] in RUN_OPTIONS}
    return Load(tuple(arguments), profile, options)
