"""The coordinator of a fleet: Dask's scheduler, which knows the hosts and schedules nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distributed import Scheduler

from fathom.fleet.comm import Accepts, register, security_of
from fathom.fleet.restricted import QuietNode, restricted

if TYPE_CHECKING:
    from fathom.fleet.certificates import Identity

__all__ = ["Coordinator", "coordinator_at"]

# A host that says nothing for so long is struck off; losses of a run are seen earlier, by its own
# heartbeat.
_TTL_S = 30.0
_REQUESTS = {
    "identity": ("client", "worker"),
    "register-worker": ("worker",),
    "heartbeat_worker": ("worker",),
    "unregister": ("worker",),
}
_STREAM = ("keep-alive", "worker-status-change", "log-event")


class Coordinator(QuietNode, Scheduler):
    """Knows which hosts there are. It runs no function of anybody."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - Dask's.
        """Take Dask's settings, but for what would let it run something."""
        needs_role = given.get("security") is not None
        super().__init__(
            dashboard=False, extensions={}, plugins=(), worker_ttl=_TTL_S, validate=False, **given
        )
        kept: Any = _REQUESTS
        self.handlers = restricted(self.handlers, kept, needs_role=needs_role)
        self.stream_handlers = {
            name: one for name, one in self.stream_handlers.items() if name in _STREAM
        }


def coordinator_at(host: str, port: int, identity: Identity) -> Coordinator:
    """Return a coordinator that listens there, for hosts and clients with certificates."""
    register(Accepts(incoming=("worker", "client"), outgoing=("worker",)))
    return Coordinator(host=host, port=port, protocol="tls://", security=security_of(identity))
