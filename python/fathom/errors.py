"""The errors of this package.

::

    FathomError
    ├── InvalidRequestError   the arguments or the profile are wrong; nothing was touched
    │   └── TargetError       a target cannot be measured, whatever the load
    ├── RefusedError          refused, to protect data; nothing was touched
    └── RunFailedError        the run began and failed; it carries the partial result
        └── DataFaultError    verification found wrong data

    KeyboardInterrupt
    ├── RunInterrupted        Ctrl-C ended the run; it carries the partial result
    └── ExperimentInterrupted Ctrl-C ended an experiment between its runs, which are saved
        └── AssessmentInterrupted  an assessment; it carries what was found until then

An interruption is the user's wish and no error, so ``except FathomError`` does not catch it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._fathom import FathomError, InvalidRequestError, RefusedError

if TYPE_CHECKING:
    from fathom.result import Result

__all__ = [
    "DataFaultError",
    "ExperimentInterrupted",
    "FathomError",
    "InvalidRequestError",
    "RefusedError",
    "RunFailedError",
    "RunInterrupted",
    "TargetError",
    "with_remedy",
]


def with_remedy(error: OSError) -> str:
    """Return an error of the system in its words, with what to do where the account may not."""
    remedy = "; use an account that may" if isinstance(error, PermissionError) else ""
    return f"{error.strerror or error}{remedy}"


class TargetError(InvalidRequestError):
    """A target cannot be measured, whatever the load; nothing was touched."""


class RunFailedError(FathomError):
    """A run that began and failed.

    Attributes
    ----------
    result
        What was measured until then; ``result.raw["failures"]`` has each failure with its kind, the
        system's code (such as ``ENOSPC``) and a sentence.

    """

    @property
    def kind(self) -> str:
        """The kind of the first failure, the same on every system, such as ``no_space``.

        ``other`` if none is known. The kinds stand in ``schema/result.schema.json``.
        """
        failures = self.result.raw.get("failures") or [{"kind": "other"}]
        return str(failures[0]["kind"])

    def __init__(self, message: str, result: Result) -> None:
        """Keep the partial result beside the message."""
        # Both are arguments of the base, so that the error survives pickling between processes.
        super().__init__(message, result)
        self.result = result

    def __str__(self) -> str:
        """Return the message alone."""
        return str(self.args[0])


class DataFaultError(RunFailedError):
    """A run with ``--verify`` whose reads found wrong data; the result tells them."""


class RunInterrupted(KeyboardInterrupt):
    """A run that Ctrl-C ended before its time.

    Attributes
    ----------
    result
        What was measured until then.
    run_id
        Its number in the store, or None if it was not saved.

    """

    def __init__(self, result: Result, run_id: int | None = None) -> None:
        """Keep the partial result."""
        super().__init__(result)
        self.result = result
        self.run_id = run_id

    def __str__(self) -> str:
        """Return the message alone; the result would fill screens."""
        return "the run was interrupted"


class ExperimentInterrupted(KeyboardInterrupt):
    """An experiment that Ctrl-C ended between two runs; those that were made are saved."""

    def __str__(self) -> str:
        """Return the message alone."""
        return "the experiment was interrupted"
