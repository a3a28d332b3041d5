"""What a store holds of an experiment, and nobody can read: damaged, or of another version."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fathom.store.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

__all__ = ["damage_told", "not_of_the_store", "run_damage_told"]

_OWN = "is_of_the_caller"

# What reading data of another shape than expected raises.
_OTHER_SHAPE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def _told(words: Callable[[Exception], str]) -> Iterator[None]:
    try:
        yield
    except _OTHER_SHAPE as error:
        if getattr(error, _OWN, False):
            raise
        raise StoreError(words(error)) from error


@contextmanager
def not_of_the_store() -> Iterator[None]:
    """Mark what is raised within: it is whoever called us that failed, and no data of a store."""
    try:
        yield
    except _OTHER_SHAPE as error:
        setattr(error, _OWN, True)
        raise


def damage_told(of: int | str) -> AbstractContextManager[None]:
    """Tell of data that do not have the shape they should have: of an experiment, or a reference.

    Raises
    ------
    StoreError
        If something within the context meets such data.

    """
    name = f"experiment e{of}" if isinstance(of, int) else of
    return _told(
        lambda error: (
            f"what the store keeps of {name} is damaged, or of another version of Fathom "
            f"({type(error).__name__}: {error}); its runs are not touched (fathom list)"
        )
    )


def run_damage_told(run_id: int) -> AbstractContextManager[None]:
    """Tell of a run that does not have the shape that it should have.

    Raises
    ------
    StoreError
        If something within the context meets such data.

    """
    return _told(
        lambda error: (
            f"run {run_id} was saved by another version of Fathom, or is damaged: {error}; "
            "its summary is in fathom list"
        )
    )
