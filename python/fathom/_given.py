"""What callers of the functions give, as the experiments take it: wrong values end before a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, SupportsIndex, TypeGuard, TypeVar, cast

from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.request import Request

    Values = str | int | Iterable[str | int]
    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

__all__ = [
    "amount",
    "as_wrong_request",
    "check_flags",
    "check_followers",
    "check_text",
    "check_texts",
    "chosen",
    "each_path",
    "is_request",
    "named_target",
    "named_targets",
    "number",
    "spelled",
    "spelled_axes",
    "whole",
]

_T = TypeVar("_T")

# So much of a wrong value tells what it is.
_MOST_SHOWN = 100


def spelled(field: str, values: Values) -> str:
    """Return values as the command spells them: ``"1..16"`` as it is, 8, and ``[1, 2, 4]``.

    Raises
    ------
    InvalidRequestError
        If one is neither a text nor a whole number; ``field`` tells where.

    """
    if isinstance(values, str | bytes) or not _has_several(values):
        return _spelled_one(field, values)
    return ",".join(_spelled_one(field, value) for value in values)


def _has_several(values: object) -> TypeGuard[Iterable[object]]:
    # An array of numpy without dimensions is one value, though its type has others.
    return isinstance(values, Iterable) and getattr(values, "shape", None) != ()


def _index(value: object) -> int | None:
    """Return a whole number of any library as Python's; None of what is none."""
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        # An array has an index only if it is one whole number.
        with suppress(TypeError):
            return index(value)
    return None


def _spelled_one(field: str, value: object) -> str:
    if isinstance(value, str):
        return value
    found = _index(value)
    if found is not None:
        return str(found)
    raise InvalidRequestError(
        f"{field}: {_shown(value)} is no value: give a whole number or text, or several"
    )


def spelled_axes(
    parameters: Mapping[str, Values], known: Iterable[str]
) -> tuple[dict[str, str], list[str]]:
    """Return parameters that have a name of their own, and those that are options, as typed.

    Raises
    ------
    InvalidRequestError
        If one is neither, or they are no mapping.

    """
    if not isinstance(parameters, Mapping):
        raise InvalidRequestError(
            f"parameters: {_shown(parameters)} has no names: give {{'depth': '1..16'}} or the like"
        )
    named, options = {}, []
    names = [*known]
    for name, values in parameters.items():
        if name in names:
            named[name] = spelled(name, values)
        elif isinstance(name, str) and name.startswith("-"):
            options.append(f"{name}={spelled(name, values)}")
        else:
            raise InvalidRequestError(
                f"there is no parameter {name!r}; there are {', '.join(names)}, and options such "
                "as '--rate' or '-rs'"
            )
    return named, options


def whole(field: str, value: int | None, *, least: int) -> int | None:
    """Return a whole number, of whatever library, as Python's own; None is one not given.

    Raises
    ------
    InvalidRequestError
        If it is none, or less than ``least``; ``field`` tells which it is.

    """
    if value is None:
        return None
    found = _index(value)
    if found is None or found < least:
        raise InvalidRequestError(
            f"{field}: {_shown(value)} is no whole number of at least {least}"
        )
    return found


def amount(field: str, value: object) -> float | None:
    """Return a finite number above 0, as ``number`` does.

    Raises
    ------
    InvalidRequestError
        ``field`` tells which it is.

    """
    found = _finite(value)
    if value is not None and (found is None or found <= 0):
        raise InvalidRequestError(f"{field}: {_shown(value)} is no number above 0")
    return found


def number(field: str, value: object) -> float | None:
    """Return a finite number, of whatever library, as Python's own; None is one not given.

    Raises
    ------
    InvalidRequestError
        ``field`` tells which it is.

    """
    found = _finite(value)
    if value is not None and found is None:
        raise InvalidRequestError(f"{field}: {_shown(value)} is no number")
    return found


def _finite(value: object) -> float | None:
    """Return the finite number that a value is; None if it is none."""
    with suppress(OverflowError):
        if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    return None


def is_request(value: Request | str | Sequence[str]) -> TypeGuard[Request]:
    """Whether it is a ``Request``, by what it has, as its class takes 60 ms to load.

    A series of pandas has ``to_json``, too.
    """
    return hasattr(value, "to_json") and hasattr(value, "profile")


def _shown(value: object) -> str:
    """Return what a value is in one line, as pandas shows a series in many."""
    words = " ".join(repr(value).split())
    return words if len(words) <= _MOST_SHOWN else f"{words[: _MOST_SHOWN - 3]}..."


def check_text(field: str, value: object) -> None:
    """Refuse what is no text.

    Raises
    ------
    InvalidRequestError
        ``field`` tells which it is.

    """
    if not isinstance(value, str):
        raise InvalidRequestError(f"{field}: {_shown(value)} is no text")


def check_texts(field: str, values: object) -> None:
    """Refuse what is no list of texts: of a text alone, the letters would be taken.

    Raises
    ------
    InvalidRequestError
        ``field`` tells which it is.

    """
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    if not is_list or not all(isinstance(one, str) for one in cast("Sequence[object]", values)):
        raise InvalidRequestError(f"{field}: {_shown(values)} is no list of texts")


def check_followers(cancel: object, **callbacks: object) -> None:
    """Refuse what cannot be called, and what does not say whether it is set.

    Raises
    ------
    InvalidRequestError
        It tells which it is.

    """
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        raise InvalidRequestError(f"cancel: {cancel!r} is no threading.Event")
    for field, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise InvalidRequestError(f"{field}: {callback!r} cannot be called")


def each_path(paths: Paths, field: str) -> list[str]:
    """Return paths, of which one alone need be no list: its letters would be taken for names.

    Raises
    ------
    InvalidRequestError
        If one is no text and no path, or has no name; ``field`` tells where.

    """
    if isinstance(paths, str | bytes | os.PathLike) or not _has_several(paths):
        return [_one_path(paths, field)]
    return [_one_path(path, field) for path in paths]


def _one_path(path: object, field: str) -> str:
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidRequestError(
            f"{field}: {_shown(path)} is no path: give text or a Path, or several"
        )
    return text


def named_targets(targets: Paths) -> list[str]:
    """Return the names of one target or several.

    Raises
    ------
    InvalidRequestError
        If there is none, or one can be the name of nothing.

    """
    names = each_path(targets, "targets")
    if not names:
        raise InvalidRequestError("there is no target: name a file, a folder or a device")
    return names


def named_target(target: str | os.PathLike[str]) -> str:
    """Return the name of one target.

    Raises
    ------
    InvalidRequestError
        If it can be the name of nothing.

    """
    if not isinstance(target, str | os.PathLike):
        raise InvalidRequestError(
            f"the target is the path of a file or device, not {_shown(target)}"
        )
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
            raise InvalidRequestError(f"{name} is True or False, not {_shown(value)}")


def chosen(kind: str, name: str, choices: Mapping[str, _T]) -> _T:
    """Return what has this name.

    Raises
    ------
    InvalidRequestError
        If nothing has; the message lists what there is.

    """
    if not isinstance(name, str) or name not in choices:
        raise InvalidRequestError(
            f"there is no {kind} {_shown(name)}; there are {', '.join(choices)}"
        )
    return choices[name]


@contextmanager
def as_wrong_request() -> Iterator[None]:
    """Raise ``InvalidRequestError`` where a plan refuses a value that it cannot have."""
    try:
        yield
    except ValueError as error:
        raise InvalidRequestError(str(error)) from error
