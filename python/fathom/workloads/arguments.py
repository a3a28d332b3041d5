"""From a workload, a target and the user's wishes to the arguments of a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom._hanging import must_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.workloads.workload import Step, Workload

__all__ = ["run_arguments"]

# What a wish replaces: options that exclude each other, or could not stand twice.
_FAMILIES = (
    ("-S", "-h"),
    ("-r", "-s"),
    ("-b", "--block-mix"),
    ("--fsync", "--fdatasync"),
)
_LONG = re.compile(r"--[a-z-]+")


def run_arguments(
    workload: Workload, step: Step, wishes: Sequence[str], targets: Sequence[str]
) -> list[str]:
    """Return the arguments of one run.

    A wish takes the place of the workload's own option. Where a target does not exist yet, and is
    requested by no override, it is created with the workload's size.
    """
    replaced = {_family(wish) for wish in wishes}
    kept = [one for one in step.arguments if _family(one) not in replaced]
    paths = [one for one in targets if not one.startswith(("#", "*")) and not is_address(one)]
    must_answer(paths)
    missing = any(not Path(path).exists() for path in paths)
    size = [f"-c{workload.size}"] if missing and "-c" not in replaced else []
    return [*size, *kept, *wishes, *targets]


def _family(option: str) -> str:
    """Return what names an option, the same for those that exclude each other."""
    long = _LONG.match(option)
    name = long[0] if long else "-rd" if option.startswith("-rd") else option[:2]
    return next((family[0] for family in _FAMILIES if name in family), name)
