"""The fleet that a command names, as one word that plans keep: ``fleet:local:2``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import parse_qsl, quote, urlencode

from fathom._addresses import place_of
from fathom.errors import InvalidRequestError

__all__ = [
    "DEFAULT_PORT",
    "FLEET_PREFIX",
    "MOST_LOCAL",
    "FleetAddress",
    "HostLoss",
    "host_and_port",
    "in_brackets",
    "listening_place",
]

FLEET_PREFIX = "fleet:"
"""What the name of a runner begins with that is a fleet."""

DEFAULT_PORT = 8786
MOST_LOCAL = 64
HostLoss = Literal["stop", "continue"]

_LOCAL = re.compile(r"local:(\d{1,4})")


@dataclass(frozen=True)
class FleetAddress:
    """Which fleet, and how it is used.

    Attributes
    ----------
    address
        ``local:N``, or host and port of the coordinator.
    tls
        The folder with the certificates; None for ``local:N``.
    hosts
        The hosts that measure; all if it is empty.
    overlap
        A target that several hosts share is used whole by each of them.
    on_host_loss
        What the loss of a host does to the run.

    """

    address: str
    tls: str | None = None
    hosts: tuple[str, ...] = ()
    overlap: bool = False
    on_host_loss: HostLoss = "stop"

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        InvalidRequestError
            It says what to write instead.

        """
        if self.on_host_loss not in ("stop", "continue"):
            raise InvalidRequestError(
                f"--on-host-loss is stop or continue, not {self.on_host_loss}"
            )
        if len(set(self.hosts)) < len(self.hosts):
            raise InvalidRequestError(f"--hosts {','.join(self.hosts)}: a host is named twice")
        if self.address.startswith("local:"):
            self._check_local()
        else:
            host_and_port(self.address)
            if self.tls is None:
                raise InvalidRequestError(
                    f"--fleet {self.address}: name the folder with the certificates (--tls DIR), "
                    "which fathom fleet certificates makes; without one there is only local:N"
                )

    def _check_local(self) -> None:
        if not 1 <= self.local_hosts <= MOST_LOCAL:
            raise InvalidRequestError(
                f"--fleet {self.address}: write local:2 for two hosts on this machine; "
                f"{MOST_LOCAL} at most"
            )
        if self.tls is not None:
            raise InvalidRequestError(
                f"--tls: {self.address} stays within this process and has no certificates"
            )

    @property
    def local_hosts(self) -> int:
        """How many hosts are started on this machine; 0 for a fleet that is there already."""
        found = _LOCAL.fullmatch(self.address)
        return int(found[1]) if found else 0

    @property
    def needs_consent(self) -> bool:
        """Whether a store alone must not lead there: it would connect to another machine."""
        return self.local_hosts == 0

    def words(self) -> list[str]:
        """Return the options that name it; none where a store may lead there alone."""
        return self.options() if self.needs_consent else []

    def options(self) -> list[str]:
        """Return the options that name it, wherever it is."""
        found = ["--fleet", self.address, *(["--tls", self.tls] if self.tls else [])]
        found += ["--hosts", ",".join(self.hosts)] if self.hosts else []
        found += ["--overlap"] if self.overlap else []
        return found + (["--on-host-loss=continue"] if self.on_host_loss == "continue" else [])

    def runner_name(self) -> str:
        """Return it as the name of a runner, which ``from_runner`` reads."""
        asked = {
            "tls": self.tls or "",
            "hosts": ",".join(self.hosts),
            "overlap": "yes" if self.overlap else "",
            "on-host-loss": "" if self.on_host_loss == "stop" else self.on_host_loss,
        }
        query = urlencode({name: value for name, value in asked.items() if value}, quote_via=quote)
        return FLEET_PREFIX + self.address + (f"?{query}" if query else "")

    @classmethod
    def from_runner(cls, name: str) -> Self:
        """Read what ``runner_name`` wrote.

        Raises
        ------
        InvalidRequestError
            If it is not a fleet's name.

        """
        address, _, query = name.removeprefix(FLEET_PREFIX).partition("?")
        asked = dict(parse_qsl(query))
        loss: HostLoss = "continue" if asked.get("on-host-loss") == "continue" else "stop"
        hosts = tuple(filter(None, asked.get("hosts", "").split(",")))
        return cls(address, asked.get("tls"), hosts, asked.get("overlap") == "yes", loss)


def in_brackets(host: str) -> str:
    """Return a host as addresses have it: one of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def listening_place(text: str) -> tuple[str, int]:
    """Return where a host listens: ``a``, ``a:9000``, ``:9000`` or ``[::1]:9000``; port 0 is any.

    Raises
    ------
    InvalidRequestError
        If it is none of these.

    """
    # It listens at all of its addresses where none is named.
    is_any = text.startswith(":")
    found = place_of(f"any{text}" if is_any else text)
    if found is None or text == ":":
        raise InvalidRequestError(
            f"--listen {text!r}: write the name or address at which clients reach this host, and a "
            "port if it is not to be any free one, such as a, a:9000 or [::1]:9000"
        )
    return "" if is_any else found[0], found[1] or 0


def host_and_port(text: str) -> tuple[str, int]:
    """Return host and port of ``a:8786``, ``a``, or ``[::1]:8786``.

    Raises
    ------
    InvalidRequestError
        If it is neither.

    """
    found = place_of(text)
    # Port 0 stands for any free one, which nobody can connect to.
    if found is None or found[1] == 0:
        raise InvalidRequestError(
            f"{text!r} is not the address of a fleet: write its coordinator's host and port, such "
            f"as a:{DEFAULT_PORT}, or local:2"
        )
    return found[0], DEFAULT_PORT if found[1] is None else found[1]
