"""Steps: what is to be there, whether it is, how it is made, and how it is taken away again."""

from __future__ import annotations

from collections.abc import Callable, Sequence  # noqa: TC003 - Of the fields of a step.
from dataclasses import dataclass, field
from typing import Literal

from fathom._signals import held_back
from fathom.errors import FathomError, InvalidRequestError, RefusedError

__all__ = ["LunError", "LunStep", "StepDone", "carried", "is_new", "planned", "taken_away"]


class LunError(FathomError):
    """A LUN could not be set up or taken away; the message says what is left of it."""


def _nothing() -> None:
    """Undo nothing."""


def _no_reason() -> str | None:
    """Keep nothing."""
    return None


@dataclass(frozen=True)
class LunStep:
    """One thing that is to be there.

    Attributes
    ----------
    name
        What it is, such as ``volume vol1``.
    is_there
        Whether it is there already; raises if it is there, but is another than is meant.
    make, undo
        Make it, and take it away again. What ``make`` leaves half done it takes away itself.
    part
        ``create`` for what holds the data, ``map`` for who reaches it.
    why_kept
        Why it stays where the LUN is removed, such as since others use it; None if it goes.
    holds_data
        Whether it is what the LUN's data are in.

    """

    name: str
    is_there: Callable[[], bool]
    make: Callable[[], None]
    undo: Callable[[], None] = field(default=_nothing)
    part: Literal["create", "map"] = "create"
    why_kept: Callable[[], str | None] = field(default=_no_reason)
    holds_data: bool = False


@dataclass(frozen=True)
class StepDone:
    """A step, and what became of it."""

    name: str
    state: Literal["to be made", "there already", "made"]


def planned(steps: Sequence[LunStep]) -> list[StepDone]:
    """Return what would be done; nothing is changed.

    Raises
    ------
    LunError
        If something is there that is another than is meant.

    """
    return [_as_planned(one) for one in steps]


def _as_planned(step: LunStep) -> StepDone:
    return StepDone(step.name, "there already" if step.is_there() else "to be made")


def carried(
    steps: Sequence[LunStep], tell: Callable[[StepDone], None] = lambda _done: None
) -> list[StepDone]:
    """Do what is missing, in order; ``tell`` gets each step once it is done.

    Raises
    ------
    LunError
        If one fails; what was made before is taken away again, the last first, and the message
        names what could not be.

    """
    made: list[LunStep] = []
    done: list[StepDone] = []
    at = "looking at what is there"
    try:
        for step in steps:
            at = step.name
            if step.is_there():
                done.append(StepDone(step.name, "there already"))
            else:
                # Ctrl-C waits until it is known what was made. What fails to be made may be
                # somebody else's by now, and is never undone.
                with held_back():
                    step.make()
                    made.append(step)
                done.append(StepDone(step.name, "made"))
            tell(done[-1])
    except (FathomError, OSError, KeyboardInterrupt) as error:
        with held_back():
            left = _undone(made)
        if isinstance(error, KeyboardInterrupt):
            raise
        words = f"{at}: {error}; {_left_words(made, left)}"
        # Whose fault it is stays known: wrong options and the guard have exit codes of their own.
        kind = type(error) if isinstance(error, InvalidRequestError | RefusedError) else LunError
        raise kind(words) from error
    return done


def is_new(steps: Sequence[LunStep], done: Sequence[StepDone]) -> bool:
    """Whether that which holds the data was made just now, and so holds none."""
    pairs = zip(steps, done, strict=True)
    return any(step.holds_data and one.state == "made" for step, one in pairs)


def _undone(made: Sequence[LunStep]) -> list[str]:
    left = []
    for step in reversed(made):
        try:
            step.undo()
        except (FathomError, OSError) as error:
            left.append(f"{step.name} ({error})")
    return left


def _left_words(made: Sequence[LunStep], left: Sequence[str]) -> str:
    if left:
        return f"what could not be taken away again: {', '.join(left)}"
    return "what was made before is taken away again" if made else "nothing was made"


def taken_away(steps: Sequence[LunStep], tell: Callable[[str], None]) -> list[str]:
    """Undo what is there of these steps, the last first, and return the names of what was.

    What others use or what holds data stays, and ``tell`` says why.

    Raises
    ------
    LunError
        If something is there that is another than is meant, and nothing is taken away; or if
        something cannot be: the rest is, all the same.

    """
    _refuse_others(steps)
    gone, failed = [], []
    for step in reversed(steps):
        try:
            if not step.is_there():
                continue
            reason = step.why_kept()
            if reason is not None:
                tell(f"kept {step.name}: {reason}")
                continue
            step.undo()
            gone.append(step.name)
            tell(f"removed {step.name}")
        except (FathomError, OSError) as error:
            failed.append(f"{step.name} ({error})")
    if failed:
        raise LunError(f"could not be removed: {', '.join(failed)}")
    return gone


def _refuse_others(steps: Sequence[LunStep]) -> None:
    """Look at all before the first is undone: a LUN that is not meant would lose its access."""
    for step in steps:
        try:
            step.is_there()
        except FathomError as error:
            kind = type(error) if isinstance(error, InvalidRequestError) else LunError
            raise kind(f"{step.name}: {error}; nothing was removed") from error
