"""Names of units: no two names have the same one."""

from __future__ import annotations

import re

__all__ = ["escaped_name", "unit_name"]

_SAFE = re.compile(rb"[A-Za-z0-9:_.-]")


def escaped_name(name: str) -> str:
    r"""Return a name with all that a unit cannot have as systemd-escape(1) has it: ``a\x20b``."""
    pieces = [bytes([byte]) for byte in name.encode()]
    return "".join(one.decode() if _SAFE.fullmatch(one) else f"\\x{one[0]:02x}" for one in pieces)


def unit_name(name: str, kind: str) -> str:
    """Return the name of a unit: ``fathom-nightly.timer``."""
    return f"fathom-{escaped_name(name)}.{kind}"
