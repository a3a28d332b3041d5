"""Who is who in a fleet: the role in a certificate, and who takes whom for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ROLES", "Peer", "Role", "peer_of", "role_refusal"]

Role = Literal["coordinator", "worker", "client"]
ROLES: tuple[Role, ...] = ("coordinator", "worker", "client")

_ORGANISATION = "Fathom fleet"


@dataclass(frozen=True)
class Peer:
    """Who is at the other end, as the certificate says that our authority has signed.

    ``name`` is the host that the certificate was made for.
    """

    role: Role
    name: str


def peer_of(certificate: Mapping[str, object] | None) -> Peer | None:
    """Return whom a certificate (``ssl.SSLSocket.getpeercert``) names; None if it is not ours."""
    subject = certificate.get("subject", ()) if certificate else ()
    found: dict[str, str] = {}
    if isinstance(subject, tuple):
        found = {name: value for part in subject for name, value in part}
    role = next((one for one in ROLES if one == found.get("organizationalUnitName")), None)
    if role is None or found.get("organizationName") != _ORGANISATION:
        return None
    return Peer(role, found.get("commonName", ""))


def role_refusal(peer: Peer | None, accepted: tuple[Role, ...]) -> str | None:
    """Return why this peer is not taken; None if it is."""
    wanted = " or ".join(accepted)
    if peer is None:
        return f"the certificate names no role of a fleet, and that of a {wanted} is needed"
    if peer.role in accepted:
        return None
    return f"the certificate of '{peer.name}' is a {peer.role}'s, and a {wanted}'s is needed"
