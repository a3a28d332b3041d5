"""How a store's contents are named: e7 is an experiment, @12 what run 12 requested."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["experiment_number", "requested_run_number", "requested_runs"]

# No more digits than an id in a store can have.
_EXPERIMENT = re.compile(r"e([0-9]{1,18})")
_REQUESTED_RUN = re.compile(r"@([0-9]{1,18})")


def experiment_number(reference: str) -> int | None:
    """Return the id that ``e7`` names; None of another reference."""
    found = _EXPERIMENT.fullmatch(reference)
    return int(found[1]) if found else None


def requested_run_number(reference: str) -> int | None:
    """Return the id of the run whose request ``@12`` names; None of another argument."""
    found = _REQUESTED_RUN.fullmatch(reference)
    return int(found[1]) if found else None


def requested_runs(arguments: Iterable[str]) -> list[str]:
    """Return those of ``fathom run``'s arguments that name what a run requested.

    Behind ``--`` all are files, ``@12``, too.
    """
    words = takewhile(lambda word: word != "--", arguments)
    return [word for word in words if requested_run_number(word) is not None]
