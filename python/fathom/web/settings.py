"""Where the server listens, what it keeps, and under which names it answers."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path

from fathom.errors import InvalidRequestError
from fathom.store.where import store_file

__all__ = ["Settings", "SettingsError", "server_folder"]

_OWN_MODE = 0o700
# To write for the group and for all.
_OF_OTHERS = 0o022
_DEFAULT_PORTS = {"http": 80, "https": 443}


class SettingsError(InvalidRequestError):
    """The server cannot be started so; nothing was opened."""


def server_folder(folder: Path | None) -> Path:
    """Return the server's folder, made if it is missing: beside the usual store unless named.

    Raises
    ------
    SettingsError
        If it cannot be made, or others may write there.

    """
    usual = store_file() or Path.cwd() / "fathom"
    found = folder or usual.parent / "serve"
    try:
        found.mkdir(parents=True, exist_ok=True)
        if not any(found.iterdir()):
            # Users, tokens and what was measured concern nobody else.
            found.chmod(_OWN_MODE)
        elif found.stat().st_mode & _OF_OTHERS:
            raise SettingsError(
                f"the server's folder {found} has files, and others may write there: name one of "
                "its own with --folder"
            )
    except OSError as error:
        raise SettingsError(
            f"the server's folder {found} cannot be made: {error.strerror}; name another with "
            "--folder"
        ) from error
    return found.absolute()


@dataclass(frozen=True)
class Settings:
    """All that the server was started with.

    Attributes
    ----------
    address, port
        Where it listens.
    folder
        What it keeps: users, tokens and the runs that it started.
    store
        The store, as ``--store`` names it.
    certificate, key
        Files in PEM; None without TLS.
    names
        Further names under which it answers.

    """

    address: str
    port: int
    folder: Path
    store: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.address == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return False

    @property
    def scheme(self) -> str:
        """How it is spoken to."""
        return "https" if self.certificate else "http"

    def hosts(self) -> frozenset[str]:
        """Return all values of the header ``Host`` that mean this server.

        Another name that leads to its address is somebody's who wants to speak through a browser
        with what only this machine may reach (DNS rebinding).
        """
        known = {self.address, *self.names}
        if self.is_local:
            known |= {"127.0.0.1", "localhost", "::1"}
        else:
            known |= {socket.gethostname(), socket.getfqdn()}
        shown = {f"[{one}]" if ":" in one else one for one in known}
        with_port = {f"{one}:{self.port}".lower() for one in shown}
        if self.port == _DEFAULT_PORTS[self.scheme]:
            with_port |= {one.lower() for one in shown}
        return frozenset(with_port)

    def check(self, *, has_users: bool) -> None:
        """Refuse what would let others in.

        Raises
        ------
        SettingsError
            If another machine can reach it without a certificate, or without users.

        """
        if (self.certificate is None) != (self.key is None):
            raise SettingsError("a certificate needs its key: give both, --certificate and --key")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise SettingsError(f"there is no file {file}: check the name")
        if self.is_local:
            return
        if self.certificate is None:
            raise SettingsError(
                f"{self.address} can be reached from other machines, so that passwords and figures "
                "would cross the network in the clear: give --certificate and --key, or listen on "
                "127.0.0.1"
            )
        if not has_users:
            raise SettingsError(
                f"{self.address} can be reached from other machines, and nobody may come in yet: "
                "add a user first, with fathom serve user add NAME"
            )
