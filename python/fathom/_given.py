"""What callers of the functions give, as the experiments take it: wrong values end before a run."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Values = str | int | Iterable[str | int]
    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

__all__ = [
    "as_wrong_request",
    "check_flags",
    "chosen",
    "each_path",
    "named_target",
    "named_targets",
    "spelled",
    "spelled_axes",
]

_T = TypeVar("_T")


def spelled(values: Values) -> str:
    """Return values as the command spells them: ``"1..16"`` as it is, 8, and ``[1, 2, 4]``."""
    if isinstance(values, str | int):
        return str(values)
    return ",".join(str(value) for value in values)


def spelled_axes(
    parameters: Mapping[str, Values], known: Iterable[str]
) -> tuple[dict[str, str], list[str]]:
    """Return parameters that have a name of their own, and those that are options, as typed.

    Raises
    ------
    InvalidRequestError
        If one is neither.

    """
    named, options = {}, []
    names = [*known]
    for name, values in parameters.items():
        if name in names:
            named[name] = spelled(values)
        elif name.startswith("-"):
            options.append(f"{name}={spelled(values)}")
        else:
            raise InvalidRequestError(
                f"there is no parameter {name!r}; there are {', '.join(names)}, and options such "
                "as '--rate' or '-rs'"
            )
    return named, options


def each_path(paths: Paths, name: str = "it") -> list[str]:
    """Return paths, of which one alone need be no list: its letters would be taken for names.

    Raises
    ------
    InvalidRequestError
        If one is no path; ``name`` says of what.

    """
    several = [paths] if isinstance(paths, str | bytes | os.PathLike) else paths
    try:
        found: list[object] = [os.fspath(path) for path in several]
    except TypeError:
        found = [None]
    texts = [one for one in found if isinstance(one, str)]
    if len(texts) < len(found):
        raise InvalidRequestError(f"{name}: a path, or a list of paths, is wanted, not {paths!r}")
    return texts


def named_targets(targets: Paths) -> list[str]:
    """Return the names of one target or several.

    Raises
    ------
    InvalidRequestError
        If there is none, or one can be the name of nothing.

    """
    names = each_path(targets, "targets")
    if not names or not all(names):
        raise InvalidRequestError("there is no target: name a file, a folder or a device")
    for name in names:
        if "\0" in name:
            raise InvalidRequestError(f"nothing can have the name {name!r}: it has a zero byte")
    return names


def named_target(target: str | os.PathLike[str]) -> str:
    """Return the name of one target.

    Raises
    ------
    InvalidRequestError
        If it can be the name of nothing.

    """
    if not isinstance(target, str | os.PathLike):
        raise InvalidRequestError(f"the target is the path of a file or device, not {target!r}")
    return named_targets(target)[0]


def check_flags(**flags: object) -> None:
    """Refuse what is neither true nor false: ``"no"`` would allow what it denies.

    Raises
    ------
    InvalidRequestError
        It names the flag.

    """
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise InvalidRequestError(f"{name} is True or False, not {value!r}")


def chosen(kind: str, name: str, choices: Mapping[str, _T]) -> _T:
    """Return what has this name.

    Raises
    ------
    InvalidRequestError
        If nothing has; the message lists what there is.

    """
    if name not in choices:
        raise InvalidRequestError(f"there is no {kind} {name!r}; there are {', '.join(choices)}")
    return choices[name]


@contextmanager
def as_wrong_request() -> Iterator[None]:
    """Raise ``InvalidRequestError`` where a plan refuses a value that it cannot have."""
    try:
        yield
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
