"""Which experiment ``--resume`` names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom.cli._common import fail
from fathom.cli._exit_codes import EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.store import Store

__all__ = ["refuse_what_a_plan_has", "resumed_id"]


def resumed_id(store: Store, verb: str, reference: str) -> int:
    """Return the id of ``e7``, or of the last experiment that has something left to do."""
    if reference == "last":
        found = [
            one.id
            for one in store.experiments.list(verb=verb)
            if one.state != "complete" or one.failure
        ]
        if not found:
            fail(f"{store.name} has no {verb} to go on with", EXIT_INVALID)
        return found[0]
    number = reference.removeprefix("e")
    if not re.fullmatch("[0-9]{1,18}", number):
        fail(f"{reference} is no experiment such as e7", EXIT_INVALID)
    return int(number)


def refuse_what_a_plan_has(
    verb: str, arguments: Sequence[str], options: Mapping[str, object]
) -> None:
    """End with a message if anything is given besides ``--resume`` that the plan tells."""
    given = [*arguments, *(f"--{name}" for name, value in options.items() if value)]
    if given:
        fail(f"{given[0]}: a {verb} is resumed as it was planned, without arguments", EXIT_INVALID)
