"""What can go wrong with an import."""

from __future__ import annotations

from fathom._errors import FathomError

__all__ = ["ImportFormatError"]


class ImportFormatError(FathomError):
    """The source is not what it should be; nothing of it was saved."""
