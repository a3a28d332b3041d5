"""How experiments are named: e7."""

from __future__ import annotations

import re

__all__ = ["experiment_number"]

# No more digits than an id in a store can have.
_EXPERIMENT = re.compile(r"e([0-9]{1,18})")


def experiment_number(reference: str) -> int | None:
    """Return the id that ``e7`` names; None of another reference."""
    found = _EXPERIMENT.fullmatch(reference)
    return int(found[1]) if found else None
