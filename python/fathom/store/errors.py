"""What can go wrong with a store; each message says which store, what happened and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.errors import FathomError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "BadNameError",
    "NoStoreError",
    "NotAStoreError",
    "NotFoundError",
    "NotSavedError",
    "StoreError",
    "StoreFullError",
    "StoreInUseError",
    "StoreLockedError",
    "StoreTooNewError",
]


class StoreError(FathomError):
    """The store cannot be used."""


class NotAStoreError(StoreError):
    """The file or database is something else; it was not changed."""


class StoreTooNewError(StoreError):
    """A later version of Fathom made this store; it was not changed."""


class StoreLockedError(StoreError):
    """Another program keeps the store locked for longer than the time to wait."""


class StoreFullError(StoreError):
    """There is no room to save; what was saved before is whole."""


class NotSavedError(StoreError):
    """A run was measured and cannot be saved.

    Attributes
    ----------
    rescue
        The file that holds its result instead, None if there was no room for it anywhere.

    """

    def __init__(self, message: str, rescue: Path | None = None) -> None:
        """Keep where the result is."""
        super().__init__(message, rescue)
        self.rescue = rescue

    def __str__(self) -> str:
        """Return the message alone."""
        return str(self.args[0])


class NotFoundError(StoreError):
    """The store has no such run, experiment or baseline."""


class BadNameError(StoreError):
    """A baseline cannot have this name."""


class NoStoreError(NotFoundError):
    """There is no store of this name yet, and who only reads makes none."""


class StoreInUseError(StoreError):
    """What is to be deleted or moved is needed: a baseline names it, or an experiment goes on."""
