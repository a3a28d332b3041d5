"""A connection to a coordinator or a host, on which one question is asked at a time."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

from distributed.comm.core import Comm, connect
from tornado.iostream import StreamClosedError

from fathom.errors import FathomError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OF_ONE_AUTHORITY", "Channel", "NoAnswerError"]

OF_ONE_AUTHORITY = "both need certificates of one authority (fathom fleet certificates)"
"""What to do where two ends do not accept each other."""


class NoAnswerError(FathomError):
    """The other end cannot be reached, or does not answer, or refuses us."""

    @property
    def is_of_certificates(self) -> bool:
        """Whether TLS has failed, and not the way to the other end."""
        error: BaseException | None = self
        while error is not None and not isinstance(error, ssl.SSLError):
            error = error.__cause__
        return error is not None


class Channel:
    """Asks one end, and connects again where the connection was lost."""

    def __init__(self, address: str, arguments: Mapping[str, Any]) -> None:
        """Ask the end at this address; ``arguments`` are those of Dask's connections."""
        self.address = address
        self._arguments = arguments
        self._comm: Comm | None = None
        self._lock = asyncio.Lock()

    async def ask(self, request: str, timeout_s: float, **asked: object) -> Any:  # noqa: ANN401 - Data.
        """Ask, and return the answer.

        Raises
        ------
        NoAnswerError
            If there is none within this time.

        """
        async with self._lock:
            try:
                return await asyncio.wait_for(self._asked(request, timeout_s, asked), timeout_s)
            except TimeoutError as error:
                self.close()
                raise NoAnswerError(f"no answer within {timeout_s:.1f} s") from error
            except asyncio.CancelledError:
                # Its answer may still come, and is not that to the next question.
                self.close()
                raise
            # What the other end sends may be anything; then nothing more is read of it.
            except (OSError, ValueError, TypeError, KeyError, EOFError) as error:
                self.close()
                raise NoAnswerError(_words(error)) from error

    async def _asked(self, request: str, timeout_s: float, asked: Mapping[str, object]) -> object:
        if self._comm is None or self._comm.closed():
            self._comm = await connect(self.address, timeout=timeout_s, **self._arguments)
        await self._comm.write({"op": request, "reply": True, **asked})
        found = await self._comm.read()
        if isinstance(found, dict) and found.get("status") == "uncaught-error":
            raise ValueError(f"it refuses {request}")
        if isinstance(found, dict) and "failed" in found:
            raise ValueError(f"it cannot do {request}: {found['failed']}")
        return found

    def close(self) -> None:
        """Let the connection go."""
        comm, self._comm = self._comm, None
        if comm is not None:
            comm.abort()


def _words(error: BaseException) -> str:
    """Return the innermost reason that says something."""
    found = error
    while found.__cause__ is not None and str(found.__cause__):
        found = found.__cause__
    if isinstance(found, StreamClosedError):
        return "it closed the connection: it has ended, or takes no such certificate"
    if isinstance(found, OSError) and found.strerror and not isinstance(found, ssl.SSLError):
        return f"{found.strerror[0].lower()}{found.strerror[1:]}"
    return str(found) or type(found).__name__
