"""Targets that another host serves, by their addresses."""

from __future__ import annotations

import os
import re

__all__ = ["is_address"]

# As the engine has them (`core/storage/target.rs`); without regard to case.
_SCHEMES = re.compile(r"(smb|iscsi|nfs|nbd|nbds|nbd\+unix|nbds\+unix)://", re.IGNORECASE)


def is_address(target: str | os.PathLike[str]) -> bool:
    """Whether a target is an address on the network, and so no path of this host."""
    name = os.fspath(target)
    return name.startswith("\\\\") or _SCHEMES.match(name) is not None
