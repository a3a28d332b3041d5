"""Arguments that begin with a workload's name."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from fathom import workloads as loads_by_name
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_INVALID

if TYPE_CHECKING:
    from fathom.workloads import Workload

__all__ = ["named_workload", "single_step", "split_rest"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def named_workload(arguments: list[str]) -> Workload | None:
    """Return the workload that the first argument names, if it names one."""
    if not arguments or arguments[0].startswith("-"):
        return None

    name = arguments[0]
    if name not in loads_by_name.workload_names():
        _refuse_misspelt(arguments, loads_by_name.workload_names())
        return None
    if Path(name).exists():
        fail(f"{name} is a workload and a file: write ./{name} for the file", EXIT_INVALID)
    if not split_rest(arguments)[1]:
        fail(f"the workload {name} needs a target: fathom run {name} FILE", EXIT_INVALID)
    return loads_by_name.find_workload(name)


def _refuse_misspelt(arguments: list[str], names: list[str]) -> None:
    """Refuse what looks like a workload's name and is neither one nor a file to be measured."""
    name = arguments[0]
    _, others = split_rest(arguments)
    creates = any(one.startswith(("-c", "/c")) for one in arguments)
    is_near = bool(get_close_matches(name, names, n=1))
    if creates or not (others or is_near) or not _NAME.fullmatch(name) or Path(name).exists():
        return
    near = get_close_matches(name, names, n=3)
    meant = f": did you mean {' or '.join(near)}?" if near else ""
    fail(f"{name} is neither a workload (fathom workloads) nor a file{meant}", EXIT_INVALID)


def split_rest(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return what is to differ from a workload, and the targets."""
    rest = arguments[1:]
    wishes = [one for one in rest if one.startswith("-")]
    return wishes, [one for one in rest if not one.startswith("-")]


def single_step(arguments: list[str]) -> tuple[list[str], str]:
    """Return DiskSpd arguments, and the name of the workload that they come from, or ""."""
    workload = named_workload(arguments)
    if workload is None:
        return arguments, ""
    if len(workload.steps) > 1:
        fail(f"{workload.name} has {len(workload.steps)} runs: name one load", EXIT_INVALID)

    wishes, targets = split_rest(arguments)
    return loads_by_name.run_arguments(workload, workload.steps[0], wishes, targets), workload.name
