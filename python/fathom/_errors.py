"""The errors of this package.

::

    FathomError
    ├── InvalidRequestError   the arguments or the profile are wrong; nothing was touched
    ├── RefusedError          refused, to protect data; nothing was touched
    └── RunFailedError        the run began and failed; it carries the partial result
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._fathom import FathomError, InvalidRequestError, RefusedError

if TYPE_CHECKING:
    from fathom._result import Result

__all__ = ["FathomError", "InvalidRequestError", "RefusedError", "RunFailedError"]


class RunFailedError(FathomError):
    """A run that began and failed.

    Attributes
    ----------
    result
        What was measured until then.

    """

    def __init__(self, message: str, result: Result) -> None:
        """Keep the partial result beside the message."""
        super().__init__(message)
        self.result = result
