"""What the application has open, and what a request may use of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import HTTPException, Request

from fathom._files import is_file
from fathom.errors import InvalidRequestError
from fathom.web.sessions import Viewer

if TYPE_CHECKING:
    from fathom.store import Store
    from fathom.web.asking import Explanations
    from fathom.web.live import Hub
    from fathom.web.processes import Processes
    from fathom.web.security import Doors, Guarded

__all__ = ["Served", "served_of", "viewer_of"]

_LONGEST = 400


@dataclass
class Served:
    """What the server has open while it runs."""

    store: Store
    processes: Processes
    explanations: Explanations
    hub: Hub
    doors: Doors
    guarded: Guarded | None = None
    loop: asyncio.AbstractEventLoop | None = None

    def hurry(self) -> None:
        """Let viewers know soon of something that was started or stopped."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.hub.hurry)

    def is_still_known(self, request: Request) -> bool:
        """Whether the session or the token that a stream was opened with still lets in."""
        if self.guarded is None:
            return True
        headers = {name.lower(): value for name, value in request.headers.items()}
        has_session = self.guarded.session_of(headers) is not None
        return has_session or self.guarded.program_of(headers) is not None

    @staticmethod
    def reference(words: str) -> str:
        """Return a reference to the store, and never a file of this machine.

        Raises
        ------
        InvalidRequestError
            If it could be a file's name.

        """
        if len(words) > _LONGEST:
            raise InvalidRequestError("the reference is too long: name fewer runs")
        if "/" in words or words.lower().endswith(".json") or is_file(words):
            raise InvalidRequestError(f"{words!a} is no run, experiment or baseline of the store")
        return words


def served_of(request: Request) -> Served:
    """Return what is open."""
    found: Served = request.app.state.served
    return found


def viewer_of(request: Request) -> Viewer:
    """Return who asks."""
    found: Viewer | None = request.scope.get("fathom.viewer")
    if found is None:
        raise HTTPException(401, "log in first")
    return found
