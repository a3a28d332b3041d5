"""The verbs, a file each; what a verb does is imported when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.cli.commands._run_do import (
        Wish,
        foresee_run,
        parse_limit,
        refuse_before_a_store,
        run_again,
        run_new,
    )

__all__ = [
    "Wish",
    "foresee_run",
    "parse_limit",
    "refuse_before_a_store",
    "run_again",
    "run_new",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
