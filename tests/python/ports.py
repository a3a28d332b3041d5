"""Ports for servers that are still to be started."""

import secrets
import socket

# Below the ports that the kernel gives to those who connect (ip_local_port_range), which took one
# now and then before its server had it.
_FIRST = 10_000
_COUNT = 20_000


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    while True:
        port = _FIRST + secrets.randbelow(_COUNT)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
