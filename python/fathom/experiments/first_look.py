"""A look at the loads of an experiment, as each run will have it, before anything is measured.

Commands and functions have this one look: nothing is made, written or saved for what cannot be run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom.engine import explain
from fathom.errors import InvalidRequestError, RefusedError, TargetError
from fathom.experiments._target_trouble import target_trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fathom._permission import Permission

__all__ = ["FirstLook", "look_at", "refusal", "refuse_what_cannot_run", "writes_to"]

_REFUSED = "refused: "


def writes_to(path: str) -> list[str]:
    """Return a load that writes to a target, for which the guard judges all of it."""
    return ["-b4K", "-w100", "-d1", path]


@dataclass(frozen=True)
class FirstLook:
    """What would be done by the loads that can be run, and what is wrong with the others."""

    told: list[Any]
    wrong: list[InvalidRequestError]

    @property
    def refused(self) -> list[tuple[str, str]]:
        """The targets that the guard refuses, each once, with its words."""
        targets = [target for one in self.told for target in one["targets"]]
        judged = [(target["path"], refusal(target)) for target in targets]
        return [*dict.fromkeys((path, why) for path, why in judged if why)]

    def raise_wrong(self, *, some_can_run: bool = False) -> None:
        """Raise what is wrong; if some can be run, only where nothing can."""
        if self.wrong and not self.refused and not (some_can_run and self.told):
            raise self.wrong[0]

    def raise_refused(self) -> None:
        """Raise what the guard refuses."""
        words = [f"{path}: {why.removeprefix(_REFUSED)}" for path, why in self.refused]
        if words:
            raise RefusedError("\n".join(words))


def look_at(
    loads: Iterable[Sequence[str]], explain_load: Callable[[Sequence[str]], list[Any]]
) -> FirstLook:
    """Look at loads; ``explain_load`` returns what would be done by one, as ``fathom.explain``."""
    told: list[Any] = []
    wrong: list[InvalidRequestError] = []
    for load in loads:
        try:
            told += explain_load(load)
        except InvalidRequestError as error:
            trouble = target_trouble(load)
            wrong.append(TargetError(str(error)) if trouble else error)
            if trouble == "hangs":
                # Another load would wait as long.
                break
    return FirstLook(told, wrong)


def refuse_what_cannot_run(
    loads: Iterable[Sequence[str]], permission: Permission, *, some_can_run: bool = False
) -> None:
    """Raise what would keep loads from being run here; ``some_can_run``: only if all are kept.

    Raises
    ------
    RefusedError
        If the guard would refuse one of them.
    TargetError
        If a target cannot be used.
    InvalidRequestError
        If one of them cannot be run for another reason.

    """

    def told(load: Sequence[str]) -> list[Any]:
        return [explain(load, overwrite=permission.overwrite, allow_write=permission.allow_write)]

    with warnings.catch_warnings():
        # Each run tells them.
        warnings.simplefilter("ignore")
        look = look_at(loads, told)
    look.raise_wrong(some_can_run=some_can_run)
    look.raise_refused()


def refusal(target: Any) -> str | None:  # noqa: ANN401 - JSON.
    """Return in the guard's words why a target would not be written; None if it would be."""
    verdict = target["verdict"]
    return f"{_REFUSED}{verdict['reason']}; {verdict['remedy']}" if verdict["is_refused"] else None
