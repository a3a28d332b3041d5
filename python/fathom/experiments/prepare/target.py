"""What is prepared: a file or a block device, and how it is known again."""

from __future__ import annotations

import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from fathom import _fathom
from fathom._addresses import is_address, misnomer
from fathom._files import size_of
from fathom._hanging import LIMIT_S, within
from fathom._provenance import is_among_devices, target_provenance
from fathom.errors import FathomError, InvalidRequestError, with_remedy

__all__ = ["TargetFacts", "described_error", "refuse_address", "target_facts"]

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)
_IN_MEMORY = ("tmpfs", "ramfs")


@dataclass(frozen=True)
class TargetFacts:
    """A target that exists.

    Attributes
    ----------
    path
        Absolute.
    is_device
        A block device; otherwise it is a regular file.
    size_bytes
        Of the file or device.
    identity
        By which it is known again: device and inode of a file, the number of a device and the
        serial number of the disk beneath it.
    is_direct
        Whether its file system lets I/O past the page cache.
    file_system
        On which a file lies; None of a device, or if the kernel does not tell.
    device_bytes
        Size of the disks beneath it, if the kernel tells.

    """

    path: str
    is_device: bool
    size_bytes: int
    identity: dict[str, object]
    is_direct: bool
    file_system: str | None
    device_bytes: int | None

    @property
    def is_in_memory(self) -> bool:
        """Whether there is no device beneath it, but memory."""
        return self.file_system in _IN_MEMORY

    def as_dict(self) -> dict[str, object]:
        """Return all of it as JSON."""
        return asdict(self)


def described_error(path: str, what: str, error: OSError) -> FathomError:
    """Return an error of the system in our words."""
    return FathomError(f"{path}: {what}: {with_remedy(error)}")


def refuse_address(path: str | os.PathLike[str]) -> None:
    """Refuse what another host serves, to which no path of this one leads, and what is no path.

    Raises
    ------
    InvalidRequestError
        If it is an address, empty, a drive of Windows, the number of a disk, or the name of a
        folder that is not there.

    """
    if not os.fspath(path):
        raise InvalidRequestError("there is no target: name a file or a block device")
    if (wrong := misnomer(path)) is not None:
        raise InvalidRequestError(wrong)
    if is_address(path):
        raise InvalidRequestError(
            f"{path} is served by another host and cannot be prepared; write to it by a run, as "
            f"fathom run -w100 -b1M -si -Zr {path} does, make a file on a share or export with "
            "fathom prepare fill --size 10G, or prepare it on its server"
        )
    # A file would be made, of the name without its slash.
    if os.fspath(path).endswith("/") and not Path(path).exists():
        raise InvalidRequestError(f"{path}: there is no such folder; name a file or a block device")


def target_facts(path: str | os.PathLike[str]) -> TargetFacts:
    """Return what a target is; it is opened for reading only.

    Raises
    ------
    InvalidRequestError
        If there is no such target, or if it is neither a regular file nor a block device.
    FathomError
        If it cannot be read, or hangs.

    """
    refuse_address(path)
    return within(LIMIT_S, f"look at '{os.fspath(path)}'", lambda: _facts(path))


def _facts(path: str | os.PathLike[str]) -> TargetFacts:
    name = str(Path(path).absolute())
    try:
        found = Path(name).stat()
    except FileNotFoundError as error:
        if is_among_devices(path):
            raise InvalidRequestError(f"{path}: there is no such device") from error
        raise InvalidRequestError(
            f"{path}: there is no such file or device; make a file with fathom prepare fill "
            f"--size 10G {path}"
        ) from error
    except OSError as error:
        raise described_error(str(path), "it cannot be looked at", error) from error
    for is_kind, words in _KINDS:
        if is_kind(found.st_mode):
            raise InvalidRequestError(f"{path} is {words}; name a regular file or a block device")
    is_device = stat.S_ISBLK(found.st_mode)
    beneath = target_provenance(name)
    try:
        size_bytes = size_of(name)
    except OSError as error:
        raise described_error(str(path), "it cannot be read", error) from error
    known = [found.st_rdev] if is_device else [found.st_dev, found.st_ino]
    return TargetFacts(
        path=name,
        is_device=is_device,
        size_bytes=size_bytes,
        identity={"number": known, "serial": beneath.device_serial if is_device else None},
        is_direct=_fathom.bypasses_page_cache(name),
        file_system=beneath.file_system,
        device_bytes=beneath.device_bytes,
    )
