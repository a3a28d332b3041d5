"""What DiskSpd arguments ask for, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom import _fathom
from fathom.engine import load_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._request_parts import RunOptions
    from fathom.request import Request

__all__ = ["Load", "read_load"]


@dataclass(frozen=True)
class Load:
    """A request, in the form that other tools' words are made of.

    Attributes
    ----------
    arguments
        Those that it was read from.
    request
        What they ask for.
    profile
        The load of that in its JSON form.

    """

    arguments: tuple[str, ...]
    request: Request
    profile: Mapping[str, Any]

    @property
    def options(self) -> RunOptions:
        """The settings of the run beside the load."""
        return self.request.options

    @property
    def for_one_run(self) -> tuple[str, ...]:
        """Those of the arguments that are typed for one run, and no part of the request."""
        return tuple(one for one in self.arguments if _fathom.is_for_one_run(one))


def read_load(arguments: Sequence[str]) -> Load:
    """Read DiskSpd arguments; no target is touched.

    Raises
    ------
    InvalidRequestError
        If they are wrong; the message names each fault.

    """
    request = load_of(arguments)
    return Load(tuple(arguments), request, request.to_dict()["profile"])
