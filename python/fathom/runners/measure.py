"""One run, saved as soon as it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom import store as stores
from fathom._permission import NOTHING, Permission, forbidden
from fathom._signals import held_back
from fathom.engine import run_kept
from fathom.errors import RunFailedError, RunInterrupted
from fathom.runners.saving import save_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.engine import EventCallback
    from fathom.request import Request
    from fathom.result import Result
    from fathom.store import Store

__all__ = ["Measured", "measure", "noted_override"]


@dataclass(frozen=True)
class Measured:
    """A run that ended; ``run_id`` is None if it was not saved, ``error`` unless it failed."""

    run_id: int | None
    result: Result
    error: RunFailedError | None

    @property
    def failure(self) -> str | None:
        """Why it failed, in words."""
        return None if self.error is None else str(self.error)


def noted_override(
    store: Store | None,
    permission: Permission,
    arguments: Sequence[str],
    experiment_id: int | None,
    request: Request | None = None,
) -> list[int]:
    """Note what is allowed for a run, and return the lines; without a store, in the usual one.

    ``request`` is what is run; without it, what the arguments ask for.

    Raises
    ------
    StoreError
        If it cannot be noted: then nothing is run.

    """
    if not permission:
        return []
    if store is not None:
        return store.overrides.note(permission, arguments, experiment_id, request)

    with stores.Store() as usual:
        usual.overrides.note(permission, arguments, experiment_id, request)
    return []


def measure(  # noqa: PLR0913 - All but the first two have defaults and names.
    store: Store | None,
    arguments: Sequence[str],
    *,
    request: Request | None = None,
    label: str = "",
    experiment_id: int | None = None,
    step_id: int | None = None,
    on_event: EventCallback | None = None,
    permission: Permission = NOTHING,
    show: Callable[[Result], None] | None = None,
) -> Measured:
    """Run DiskSpd arguments and save what was measured, also of a run that failed.

    ``request`` is what is run in place of what the arguments ask for, which are then the words
    that it is known by. The arguments allow nothing; ``permission`` is what a person has typed for
    this run. No store of results is written by the run, nor the device that holds it.

    ``show`` gets the result before it is saved, so that it is seen even if saving fails.

    Raises
    ------
    InvalidRequestError, RefusedError
        If nothing was run.
    RunInterrupted
        If Ctrl-C ended the run; what was measured is saved.
    NotSavedError
        If it cannot be saved; the message tells which file holds the result instead.

    """

    def saved(result: Result, failures: Sequence[str] = ()) -> int | None:
        try:
            if show is not None:
                show(result)
        finally:
            # Nor does it get lost where it cannot be shown, as at the end of a closed pipe.
            run_id = kept(result, failures)
        return run_id

    def kept(result: Result, failures: Sequence[str]) -> int | None:
        if store is None:
            return None
        run_id = save_run(
            store,
            result,
            arguments,
            label=label,
            failures=failures,
            experiment_id=experiment_id,
            step_id=step_id,
        )
        store.overrides.ended(noted, run_id)
        return run_id

    noted = noted_override(store, permission, arguments, experiment_id, request)
    # A request has no prohibitions, and those of the words that it is known by hold for it, too.
    protected, strict = ([], False) if request is None else forbidden(arguments)
    # Between the end of a run and its place in the store, nothing ends the process.
    with held_back():
        try:
            result = run_kept(
                arguments if request is None else request,
                permission=permission,
                on_event=on_event,
                protect=protected,
                strict=strict,
                known_as=arguments,
            )
        except RunFailedError as error:
            return Measured(saved(error.result, [str(error)]), error.result, error)
        except RunInterrupted as interruption:
            interruption.run_id = saved(interruption.result)
            raise
        return Measured(saved(result), result, None)
