"""What a peer may ask of a coordinator or a host: a few named requests, by role."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

import dask.config
from tornado.routing import RuleRouter

from fathom.fleet.comm import peer_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from fathom.fleet.roles import Role

__all__ = ["QuietNode", "quiet_logs", "restricted"]

# That a host is there, and that one is not any more.
_NEEDED = ("heartbeat", "keep-alive", "worker-ttl")


class QuietNode:
    """Leaves out of Dask's nodes what a fleet does not use.

    Their web server has no encryption and no certificates. Their monitors wake up a hundred times a
    second, on a host that measures, to look for tasks, disks and open files.
    """

    http_application: Any
    periodic_callbacks: dict[str, Any]

    def __init__(self, *given: object, **named: object) -> None:
        """Make it without the thread that samples what it does (Dask has none on 3.11)."""
        with dask.config.set({"distributed.worker.profile.enabled": False}):
            super().__init__(*given, **named)

    def start_http_server(self, *_given: object, **_named: object) -> None:
        """Start none."""
        self.http_application = _NoApplication()

    def start_periodic_callbacks(self) -> None:
        """Start those that a fleet needs."""
        kept = {name: one for name, one in self.periodic_callbacks.items() if name in _NEEDED}
        self.periodic_callbacks = kept
        super().start_periodic_callbacks()  # type: ignore[misc] # Dask's.


class _NoApplication(RuleRouter):
    applications: tuple[()] = ()

    def add_application(self, _application: object) -> None:
        """Add nothing."""


def restricted(
    handlers: Mapping[str, Callable[..., Any]],
    allowed: Mapping[str, tuple[Role, ...]],
    *,
    needs_role: bool,
) -> dict[str, Callable[..., Any]]:
    """Return the handlers that are left, each for peers of these roles.

    Within one process (``needs_role`` is false) there are no certificates and no strangers.
    """
    return {
        name: _for_roles(name, handlers[name], roles) if needs_role else handlers[name]
        for name, roles in allowed.items()
        if name in handlers
    }


def _for_roles(
    name: str, handler: Callable[..., Any], roles: tuple[Role, ...]
) -> Callable[..., Awaitable[Any]]:
    takes_comm = next(iter(inspect.signature(handler).parameters), "") == "comm"

    async def checked(comm: object, **asked: object) -> object:
        peer = peer_at(comm)
        if peer is None or peer.role not in roles:
            raise PermissionError(f"{name} is not for a {peer.role if peer else 'stranger'}")
        if name == "register-worker" and str(asked.get("name")) != peer.name:
            raise PermissionError(f"'{peer.name}' calls itself '{asked.get('name')}'")
        found = handler(comm, **asked) if takes_comm else handler(**asked)
        return await found if inspect.isawaitable(found) else found

    return checked


def quiet_logs() -> None:
    """Let Dask say nothing: what a user needs to know is said in our words."""
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
