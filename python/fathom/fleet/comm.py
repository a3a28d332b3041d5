"""Connections of a fleet: Dask's, with certificates on both sides, roles, and nothing but data.

Dask unpickles what a peer sends, so that whoever may connect may run anything. Here a message is
MessagePack alone: numbers, words, lists and mappings. A peer whose certificate has another role
than this end takes is refused before its first message is read.
"""

from __future__ import annotations

import ssl
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack
from distributed import Security
from distributed.comm.core import CommClosedError, FatalCommClosedError
from distributed.comm.registry import backends
from distributed.comm.tcp import TLS, TLSBackend, TLSConnector, TLSListener, read_bytes_rw
from distributed.protocol.utils import unpack_frames
from tornado.iostream import StreamClosedError

from fathom.fleet.roles import peer_of, role_refusal

if TYPE_CHECKING:
    from fathom.fleet.certificates import Identity
    from fathom.fleet.roles import Peer, Role

__all__ = ["CLIENT_SCHEME", "Accepts", "peer_at", "register", "security_of"]

CLIENT_SCHEME = "fathom"
"""A client's connections, which leave those of other uses of Dask in its process alone."""

_LENGTH = struct.Struct("Q")
# A result of many threads with histograms and series has some MiB.
_MESSAGE_BYTES_MOST = 1 << 30


class Accepts(NamedTuple):
    """The roles that may connect to this end, and those that it connects to."""

    incoming: tuple[Role, ...]
    outgoing: tuple[Role, ...]


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    if any(name in found for name in ("__Pickled__", "__Serialized__", "__Enum__")):
        raise ValueError("a message has more than data in it")
    return found


def _bounded(length: int) -> int:
    if length > _MESSAGE_BYTES_MOST:
        raise ValueError("a message is too long")
    return length


def _decoded(message: memoryview) -> Any:  # noqa: ANN401 - Whatever was sent.
    frames, more = unpack_frames(message, partial=True)
    if more or len(frames) != 1:
        raise ValueError("a message has more than data in it")
    return msgpack.loads(frames[0], object_hook=_plain, use_list=False, strict_map_key=False)


class _DataComm(TLS):
    """A connection that reads data, and never an object."""

    async def read(self, deserializers: object = None) -> Any:  # noqa: ANN401 - Whatever is sent.
        del deserializers
        stream = self.stream
        if stream is None:
            raise CommClosedError
        try:
            (length,) = _LENGTH.unpack(await stream.read_bytes(_LENGTH.size))
            return _decoded(await read_bytes_rw(stream, _bounded(length)))
        except (StreamClosedError, ssl.SSLError) as error:
            self.abort()
            raise CommClosedError(f"the connection to {self.peer_address} was lost") from error
        except BaseException:
            # Nobody knows how much of it was read.
            self.abort()
            raise


def peer_at(comm: object) -> Peer | None:
    """Return who is at the other end of a connection; None without a certificate of ours."""
    extra = getattr(comm, "extra_info", None) or {}
    return peer_of(extra.get("peercert"))


def _backend(accepts: Accepts, scheme: str) -> TLSBackend:
    class Connector(TLSConnector):
        prefix = f"{scheme}://"
        comm_class = _DataComm

        async def connect(
            self,
            address: str,
            deserialize: bool = True,  # noqa: FBT001, FBT002 - As Dask calls it.
            **more: Any,  # noqa: ANN401 - The same.
        ) -> TLS:
            comm = await super().connect(address, deserialize, **more)  # type: ignore[no-untyped-call]
            refusal = role_refusal(peer_at(comm), accepts.outgoing)
            if refusal is not None:
                comm.abort()
                raise FatalCommClosedError(f"{address}: {refusal}")
            return comm  # type: ignore[no-any-return]

    class Listener(TLSListener):
        prefix = f"{scheme}://"
        comm_class = _DataComm

        async def _prepare_stream(self, stream: Any, address: str) -> Any:  # noqa: ANN401 - Dask's.
            ready = await super()._prepare_stream(stream, address)  # type: ignore[no-untyped-call]
            if ready is None:
                return None
            if role_refusal(peer_of(ready.socket.getpeercert()), accepts.incoming) is not None:
                ready.close()
                return None
            return ready

    class Backend(TLSBackend):
        _connector_class = Connector
        _listener_class = Listener

    return Backend()


def register(accepts: Accepts, scheme: str = "tls") -> None:
    """Let the connections of this scheme be ours, in this process."""
    backends[scheme] = _backend(accepts, scheme)


def security_of(identity: Identity) -> Security:
    """Return what Dask needs to encrypt: TLS 1.3, and a certificate for whatever role it has."""
    authority, certificate, key = (str(one) for one in identity)
    return Security(
        require_encryption=True,
        tls_ca_file=authority,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_scheduler_cert=certificate,
        tls_scheduler_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )
