"""What callers of the functions give, as the experiments take it: wrong values end before a run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Values = str | int | Iterable[str | int]
    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

__all__ = ["as_wrong_request", "chosen", "each_path", "named_targets", "spelled", "spelled_axes"]

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


def each_path(paths: Paths, field: str) -> list[str]:
    """Return paths, of which one alone need be no list: its letters would be taken for names.

    Raises
    ------
    InvalidRequestError
        If one is no text and no path, or has no name; ``field`` tells where.

    """
    if isinstance(paths, str | bytes | os.PathLike) or not isinstance(paths, Iterable):
        return [_one_path(paths, field)]
    return [_one_path(path, field) for path in paths]


def _one_path(path: object, field: str) -> str:
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidRequestError(f"{field}: {path!r} is no path: give text or a Path, or several")
    return text


def named_targets(targets: Paths) -> list[str]:
    """Return the names of one target or several.

    Raises
    ------
    InvalidRequestError
        If there is none.

    """
    names = each_path(targets, "targets")
    if not names:
        raise InvalidRequestError("there is no target: name a file, a folder or a device")
    return names


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
