"""Words of other tools as arguments of DiskSpd."""

from __future__ import annotations

__all__ = ["file_argument", "target_argument"]

# An option, a disk by its number, and a target that a profile leaves open.
_OTHERWISE = ("-", "#", "*")


def target_argument(path: str) -> str:
    """Return a path as an argument that names just this file, whatever it begins with."""
    return f"./{path}" if path.startswith(_OTHERWISE) else path


def file_argument(path: str) -> str:
    """Return a target of ours as an argument: one that looks like an option is a file here."""
    return f"./{path}" if path.startswith("-") else path
