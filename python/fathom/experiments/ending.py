"""How an experiment that was cut short is noted."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fathom import store as stores
from fathom._signals import held_back
from fathom.errors import ExperimentInterrupted, FathomError
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.store import ExperimentState, Store

__all__ = ["end_noted", "ended_words", "is_of_the_store"]


_NOUNS = {"tune": "tuning"}


def ended_words(verb: str, why: str, experiment_id: int | None, untried: int | None = None) -> str:
    """Return why an experiment ended early, how much of it was not tried, and how it goes on.

    ``why`` is a cause, and behind a semicolon what to do about it.
    """
    cause, _, remedy = why.partition("; ")
    left = f", and {counted(untried, 'cell')} {_were(untried)} not tried" if untried else ""
    which = f"e{experiment_id}" if experiment_id else "last"
    return (
        f"The {_NOUNS.get(verb, verb)} ended early, as {cause}{left}. What was measured is saved: "
        f"{remedy}, then go on with fathom {verb} --resume {which}."
    )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def is_of_the_store(error: BaseException) -> bool:
    """Whether the store failed, so that no further run could be saved either."""
    return isinstance(error, stores.StoreError)


def _noted() -> tuple[type[BaseException], ...]:
    """Return failures, and what ends a program, a generator or a task, which is none."""
    # No task can have been cancelled where nobody has loaded them, which takes a while.
    tasks = sys.modules.get("asyncio")
    cancelled = () if tasks is None else (tasks.CancelledError,)
    return (Exception, KeyboardInterrupt, SystemExit, GeneratorExit, *cancelled)


@contextmanager
def end_noted(store: Store | None, experiment_id: int | None) -> Iterator[None]:
    """Note why an experiment ended early, if anything that is raised in here ends it.

    A store that takes nothing any more costs the note alone: what ended the experiment is raised.

    Raises
    ------
    ExperimentInterrupted
        If Ctrl-C ended it between two runs.

    """
    try:
        yield
    except _noted() as error:
        if store is not None and experiment_id is not None:
            interrupted = not isinstance(error, Exception)
            state: ExperimentState = "interrupted" if interrupted else "failed"
            why = None if interrupted else str(error)
            try:
                with held_back():
                    store.experiments.finish(experiment_id, state, failure=why)
            except FathomError as refused:
                if not is_of_the_store(error):
                    warnings.warn(
                        f"experiment e{experiment_id} could not be noted as {state}: {refused}",
                        stacklevel=2,
                    )
            if type(error) is KeyboardInterrupt:
                raise ExperimentInterrupted from error
        raise
