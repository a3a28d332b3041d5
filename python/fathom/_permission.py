"""Permission to destroy data: typed by a person, for one run.

It is no argument of a run. Arguments are kept in stores, written into workloads, imported from
other tools and sent with reports, and whoever runs them has typed none of what stands in them. The
engine takes permission beside the arguments alone, and refuses arguments that have some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "NOTHING",
    "Permission",
    "allows",
    "forbidden",
    "name_for_one_run",
    "options_and_names",
    "refuse_permissions",
    "typed",
    "without_permissions",
]

_OVERWRITE = "--overwrite"
_ALLOW_WRITE = "--allow-write"
_PROTECT = "--protect="
_STRICT = "--strict"


@dataclass(frozen=True)
class Permission:
    """What a person allows for one run, or for one command with its runs.

    Attributes
    ----------
    overwrite
        Data of other programs on the targets may be lost.
    allow_write
        What is written on the block devices that may be written, as ``--allow-write=`` takes it.

    """

    overwrite: bool = False
    allow_write: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is allowed."""
        return self.overwrite or bool(self.allow_write)

    def words(self) -> list[str]:
        """Return it as it is typed."""
        return [
            *([_OVERWRITE] if self.overwrite else []),
            *(f"{_ALLOW_WRITE}={one}" for one in self.allow_write),
        ]


NOTHING = Permission()


def allows(argument: str) -> bool:
    """Whether an argument lets data be destroyed, rightly written or not."""
    # Names of files may be no text, which the engine does not take.
    return _fathom.is_permission(argument.encode("utf-8", "replace").decode())


def typed(arguments: Iterable[str]) -> tuple[list[str], Permission]:
    """Return arguments that a person has typed, and apart from them what they allow."""
    options, names = options_and_names(arguments)
    found = [one for one in options if allows(one)]
    rest = [one for one in options if one not in found]
    # What is written wrongly stays among the arguments, for the engine to say so.
    wrong = [one for one in found if one != _OVERWRITE and not _names_a_device(one)]
    devices = tuple(one.partition("=")[2] for one in found if _names_a_device(one))
    return [*wrong, *rest, *names], Permission(_OVERWRITE in found, devices)


def options_and_names(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before ``--``; and it, with the names behind it, which allow nothing."""
    rest = [*arguments]
    end = rest.index("--") if "--" in rest else len(rest)
    return rest[:end], rest[end:]


def _names_a_device(argument: str) -> bool:
    return argument.startswith(f"{_ALLOW_WRITE}=") and argument != f"{_ALLOW_WRITE}="


def refuse_permissions(arguments: Iterable[str], where: str) -> None:
    """Refuse arguments that were not typed for this run, and yet allow something.

    Raises
    ------
    RefusedError
        If there is such an argument; ``where`` tells where it stands.

    """
    options, _ = options_and_names(arguments)
    found = next((one for one in options if allows(one)), None)
    if found is not None:
        raise RefusedError(
            f"{where}: {found} lets data be destroyed, which only a person may allow, for one run: "
            f"take it out there, and if data may be lost, type it behind the command"
        )


def forbidden(arguments: Iterable[str]) -> tuple[list[str], bool]:
    """Return what arguments protect, and whether they are strict: kept ones say so for good."""
    options, _ = options_and_names(arguments)
    protected = [one.removeprefix(_PROTECT) for one in options if one.startswith(_PROTECT)]
    return protected, _STRICT in options


def name_for_one_run(arguments: Iterable[str]) -> str | None:
    """Return the name of the first argument that belongs to one run, and to no request."""
    options, _ = options_and_names(arguments)
    # Names of files may be no text, which the engine does not take.
    texts = (one.encode("utf-8", "replace").decode() for one in options)
    return next((one.partition("=")[0] for one in texts if _fathom.is_for_one_run(one)), None)


def without_permissions(arguments: Sequence[str]) -> list[str]:
    """Return arguments that were kept, without what they once allowed."""
    options, names = options_and_names(arguments)
    return [*(one for one in options if not allows(one)), *names]
