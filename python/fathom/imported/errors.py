"""What can go wrong with an import."""

from __future__ import annotations

from fathom.errors import FathomError

__all__ = ["ImportFormatError", "UnknownFormatError"]


class ImportFormatError(FathomError):
    """The source is not what it should be; nothing of it was saved."""


class UnknownFormatError(ImportFormatError):
    """The source is of no format that is known, whole or damaged."""
