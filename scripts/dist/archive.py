"""Archives that are the same, byte for byte, wherever and whenever they are made."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["folder_members", "gzipped", "tar", "tar_gz"]

_RUNNABLE, _PLAIN = 0o755, 0o644


def folder_members(folder: Path, prefix: str = "") -> dict[str, tuple[bytes, int]]:
    """Return the files of a folder by their names in an archive, with their modes."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            mode = _RUNNABLE if path.stat().st_mode & 0o100 else _PLAIN
            found[f"{prefix}{path.relative_to(folder)}"] = (path.read_bytes(), mode)
    return found


def tar(members: Mapping[str, tuple[bytes, int]], epoch: int) -> bytes:
    """Return a tar archive; folders come before what is in them."""
    stream = io.BytesIO()
    known: set[str] = set()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in sorted(members):
            parts = name.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                folder = "/".join(parts[:depth])
                if folder not in known:
                    known.add(folder)
                    archive.addfile(_entry(folder, _RUNNABLE, epoch, kind=tarfile.DIRTYPE))
            content, mode = members[name]
            entry = _entry(name, mode, epoch)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def _entry(name: str, mode: int, epoch: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.mtime, entry.type = mode, epoch, kind
    entry.uname = entry.gname = "root"
    return entry


def gzipped(content: bytes) -> bytes:
    """Return it compressed, without a name or a time."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def tar_gz(members: Mapping[str, tuple[bytes, int]], epoch: int, place: Path) -> Path:
    """Write a compressed archive."""
    place.write_bytes(gzipped(tar(members, epoch)))
    return place
