"""Serving: opens the store, says where the pages are, and answers until Ctrl-C."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import uvicorn

from fathom.web.accounts import Accounts
from fathom.web.app import make_app
from fathom.web.bounded import BoundedProtocol
from fathom.web.pages import prepare
from fathom.web.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from fathom.store import Store
    from fathom.web.settings import Settings
    from fathom.web.state import Served

__all__ = ["serve"]

_MOST_CONNECTIONS = 400
_MOST_HEADER_BYTES = 16 << 10
_KEEP_ALIVE_S = 15
_END_S = 3
_WAITING = 128


class _Server(uvicorn.Server):
    """Ends streams first, which would otherwise be waited for."""

    def __init__(self, config: uvicorn.Config, served: Served) -> None:
        super().__init__(config)
        self._served = served

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._served.loop is not None:
            self._served.loop.call_soon_threadsafe(self._served.hub.let_go)
        super().handle_exit(sig, frame)


def serve(settings: Settings, store: Store, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; ``tell`` gets the address with the token, where there is one.

    Raises
    ------
    SettingsError
        If others could come in, or the address cannot be listened on.

    """
    settings.check(has_users=bool(Accounts(settings.folder).users()))
    listening = _listening(settings)
    settings = replace(settings, port=int(listening.getsockname()[1]))
    guarded, served = make_app(settings, store)
    prepare()
    config = uvicorn.Config(
        guarded,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_END_S,
        h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    shown = f"[{settings.address}]" if ":" in settings.address else settings.address
    place = f"{settings.scheme}://{shown}:{settings.port}/"
    tell(f"{place}?token={served.doors.token}" if served.doors.token else place)
    try:
        _Server(config, served).run(sockets=[listening])
    except OSError as error:
        raise SettingsError(f"the certificate or its key cannot be used: {error}") from error
    finally:
        listening.close()


def _listening(settings: Settings) -> socket.socket:
    """Return what listens: taken before anything is said of it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.address, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        # From here on nobody is turned away: who comes early waits.
        found.listen(_WAITING)
    except OSError as error:
        raise SettingsError(
            f"{settings.address} port {settings.port} cannot be listened on: "
            f"{error.strerror or error}; name another with --port"
        ) from error
    found.set_inheritable(False)
    return found
