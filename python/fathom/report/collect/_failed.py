"""What failed in an experiment, by name and reason, and what repeats it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.experiments.session import one_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Side
    from fathom.store import Experiment, RunSummary, Step

__all__ = ["with_failures", "with_given_names"]

# The folder of an assessment's scratch file has a name of its own, and is gone when that ends.
_SCRATCH = re.compile(r"fathom-assess-[A-Za-z0-9_]+/")
_MAKES = re.compile(r"(?:^| )-c\d")


def with_failures(
    sides: Sequence[Side], experiment: Experiment, summaries: Sequence[RunSummary]
) -> list[Side]:
    """Return the sides of an experiment with what failed in each, and with its commands."""
    found = []
    for at, side in enumerate(sides):
        mine = [
            step
            for step in experiment.steps
            if step.state == "failed" and _is_of(step, side, experiment, is_first=at == 0)
        ]
        ids = {step.id for step in mine}
        commands = [
            f"{one.columns['command_line']}  # failed"
            for one in summaries
            if one.step_id in ids and one.outcome == "failed" and one.columns["command_line"]
        ]
        failed = tuple((_label(step, side), one_reason(step.failure)) for step in mine)
        found.append(replace(side, failed=failed, commands=(*side.commands, *commands)))
    return found


def _is_of(step: Step, side: Side, experiment: Experiment, *, is_first: bool) -> bool:
    """Whether a step measured a side: of an assessment each is a target, others have one."""
    if experiment.verb != "assess":
        return is_first
    return bool(step.parameters.get("target", side.name) == side.name)


def _label(step: Step, side: Side) -> str:
    return step.label.removeprefix(f"{side.name}: ")


def with_given_names(side: Side, size_bytes: int | None) -> Side:
    """Return the side of an assessment with its scratch file where the folder is that was given.

    The folder in which it lay is removed, so that no command of it could be repeated.
    """
    commands = [_given(one) for one in side.commands]
    made = [at for at, one in enumerate(side.commands) if _SCRATCH.search(one)]
    if made and size_bytes and not _MAKES.search(commands[made[0]]):
        program, _, rest = commands[made[0]].partition(" ")
        commands[made[0]] = f"{program} -c{size_bytes} {rest}"
    return replace(
        side,
        commands=tuple(commands),
        failed=tuple((name, _given(why)) for name, why in side.failed),
        device=tuple((name, _given(value)) for name, value in side.device),
    )


def _given(text: str) -> str:
    return _SCRATCH.sub("", text)
