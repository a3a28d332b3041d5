"""What can go wrong with a store; each message says which store, what happened and what to do."""

from __future__ import annotations

from fathom._errors import FathomError

__all__ = [
    "NotAStoreError",
    "NotFoundError",
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


class NotFoundError(StoreError):
    """The store has no such run, experiment or baseline."""


class StoreInUseError(StoreError):
    """What is to be deleted is needed: a baseline names it."""
