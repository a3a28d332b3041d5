"""What is to be run, whole and typed: one type from the command line to the store and back."""

from __future__ import annotations

import json
import os
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from fathom import _fathom
from fathom._fathom import InvalidRequestError
from fathom._request_parts import GREATEST, Profile, RunOptions
from fathom._text import has_half

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["REQUEST_VERSION", "Request"]

REQUEST_VERSION = 1
"""The version of the form that is read here; the engine's constant has the same name."""

_PROFILE_ALONE = 0
_NAMES = ("request_version", "profile", "options")
# Of a field whose type is not said to be another.
_GREATEST = 2**32 - 1
# Of a wrong value, so much is shown.
_SHOWN = 80
_WORDS = {int: "a whole number", bool: "True or False", str: "a text"}


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run as it was requested: its load, and the settings beside it.

    ``parse`` makes one of DiskSpd's arguments, ``run`` runs it, and ``Result.request`` gives what
    that was run. What a person types for one run alone, such as ``--overwrite``, is no part of it.
    ``request["time_spans"]`` is a part of the load in its JSON form.

    Attributes
    ----------
    profile
        The load: time spans with their targets.
    options
        The settings of the run beside the load, such as ``total_iops`` and ``skew``.
    request_version
        The version of this form; 0 if a result of an older version told its load alone, so that the
        options are not known.

    """

    profile: Profile = field(default_factory=Profile)
    options: RunOptions = field(default_factory=RunOptions)
    request_version: int = REQUEST_VERSION

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """Read DiskSpd's arguments; no target is touched.

        Raises
        ------
        InvalidRequestError
            As ``fathom.parse``.

        """
        if isinstance(words, str):
            raise InvalidRequestError("words are a list of texts: fathom.parse takes one text, too")
        return cls.from_dict(json.loads(_fathom.request_of([str(word) for word in words])))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form; whether it can be run is seen when it is.

        Raises
        ------
        InvalidRequestError
            If it is of a newer version, or not of this form.

        """
        try:
            version = _version(data)
            if unknown := [key for key in data if key not in _NAMES]:
                raise _wrong("", f"a request has no {unknown[0]!r}")
            return cls(
                profile=_read(Profile, data["profile"], "profile"),
                options=_read(RunOptions, data["options"], "options"),
                request_version=version,
            )
        except KeyError as error:
            raise InvalidRequestError(f"this is no request: it has no {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, that of ``schema/request.schema.json``.

        Lists may stand where tuples should, and paths where texts should.

        Raises
        ------
        InvalidRequestError
            If a field has a value of another type; the message names it.

        """
        written: dict[str, Any] = _written(self)
        # What was made here and is of a wrong type is found where it is, and by its name.
        type(self).from_dict(written)
        return written

    def to_json(self) -> str:
        """Return the JSON form as text.

        Raises
        ------
        InvalidRequestError
            As ``to_dict``.

        """
        return json.dumps(self.to_dict())

    @property
    def knows_options(self) -> bool:
        """Whether the options are those of the run, and not merely unknown."""
        return self.request_version != _PROFILE_ALONE

    def on(self, *paths: str | os.PathLike[str]) -> Self:
        """Return the same request on other targets: as many, in the same order.

        Raises
        ------
        InvalidRequestError
            If there are not as many, or one is no path.

        """
        if wrong := [one for one in paths if not isinstance(one, str | os.PathLike)]:
            raise _wrong("on", f"{wrong[0]!r} stands where a path should")
        spans = self.profile.time_spans
        if any(len(span.targets) != len(paths) for span in spans):
            raise InvalidRequestError(f"the request has not {len(paths)} targets in each time span")
        moved = (
            replace(
                span,
                targets=tuple(
                    replace(target, path=os.fspath(path))
                    for target, path in zip(span.targets, paths, strict=True)
                ),
            )
            for span in spans
        )
        return replace(self, profile=replace(self.profile, time_spans=tuple(moved)))

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - Any JSON.
        """Return a part of the load in its JSON form."""
        return self.to_dict()["profile"][key]


def _wrong(where: str, what: str) -> InvalidRequestError:
    return InvalidRequestError(f"this is no request: {f'{where}: ' if where else ''}{what}")


def _version(data: Any) -> int:  # noqa: ANN401 - Whatever was given.
    """Return the version of the form, if it is one that is read here."""
    if not isinstance(data, dict):
        raise _wrong("", f"{_shown(data)} stands where an object should")
    version = data["request_version"]
    if type(version) is int and version in (_PROFILE_ALONE, REQUEST_VERSION):
        return version
    raise InvalidRequestError(
        f"this request has version {version!r} of the form; "
        f"this package reads version {REQUEST_VERSION} and older ones"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _written(value: Any) -> Any:  # noqa: ANN401 - Any part of a request.
    if isinstance(value, tuple | list):
        return [_written(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    data = {one.name.rstrip("_"): _written(getattr(value, one.name)) for one in fields(value)}
    variant = getattr(value, "VARIANT", None)
    return data if variant is None else {variant: data}


@dataclass(frozen=True, slots=True)
class _Field:
    """What a field of a part may hold; most hold a number or a word."""

    name: str
    kind: Any
    greatest: int
    is_needed: bool
    plain: frozenset[type]
    words: frozenset[str]

    def holds(self, value: object) -> bool:
        """Whether a value stands in the form as it does in the field; False leaves it open."""
        kind = type(value)
        if isinstance(value, str):
            return value in self.words or (kind in self.plain and not has_half(value))
        if kind is int:
            return kind in self.plain and self.has_room_for(value)
        return kind in self.plain

    def has_room_for(self, value: Any) -> bool:  # noqa: ANN401 - Any part of a request.
        """Whether a number is not too great; what is no number always has room."""
        return type(value) is not int or 0 <= value <= self.greatest


@cache
def _fields(kind: type) -> dict[str, _Field]:
    """Return the fields of a part by their names in the form."""
    hints = get_type_hints(kind)
    return {one.name.rstrip("_"): _field(kind, one, hints[one.name]) for one in fields(kind)}


def _field(part: type, one: Field[Any], kind: Any) -> _Field:  # noqa: ANN401 - Any type.
    key = one.name.rstrip("_")
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    # A union has one kind that is no part.
    words = [word for one in kinds if get_origin(one) is Literal for word in get_args(one)]
    return _Field(
        name=one.name,
        kind=kind,
        greatest=GREATEST.get(f"{part.__name__}.{key}", _GREATEST),
        is_needed=one.default is MISSING and one.default_factory is MISSING,
        plain=frozenset(one for one in kinds if one in (*_WORDS, type(None))),
        words=frozenset(words),
    )


def _read(kind: Any, value: Any, where: str) -> Any:  # noqa: ANN401 - Any part of a request.
    """Return a value of this type; what an older version did not tell takes its default."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_one_of(get_args(kind), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(where, f"{_shown(value)} stands where a list should")
        (one_kind, _) = get_args(kind)
        return tuple(_read(one_kind, one, f"{where}[{at}]") for at, one in enumerate(value))
    if origin is Literal:
        if not isinstance(value, str) or value not in get_args(kind):
            names = ", ".join(map(repr, get_args(kind)))
            raise _wrong(where, f"{_shown(value)} is none of {names}")
        return value
    if is_dataclass(kind):
        return _read_fields(kind, value, where)
    if type(value) is not kind:
        raise _wrong(where, f"{_shown(value)} stands where {_WORDS[kind]} should")
    if kind is str and has_half(value):
        raise _wrong(where, f"{value!a} is no UTF-8: rename it, or make a link to it")
    return value


def _read_fields(kind: Any, value: Any, where: str) -> Any:  # noqa: ANN401 - Any part.
    if not isinstance(value, dict):
        raise _wrong(where, f"{_shown(value)} stands where {kind.__name__} should")
    known = _fields(kind)
    if unknown := [key for key in value if key not in known]:
        raise _wrong(where, f"{kind.__name__} has no {unknown[0]!r}")
    without = [name for name, one in known.items() if one.is_needed and name not in value]
    if without:
        raise _wrong(where, f"{kind.__name__} has a {without[0]!r}, which is missing")
    read = {}
    for key, one in value.items():
        field = known[key]
        # Where it stands is put together only for what has to be read further.
        read[field.name] = one if field.holds(one) else _read_field(field, one, f"{where}.{key}")
    return kind(**read)


def _read_field(field: _Field, value: Any, where: str) -> Any:  # noqa: ANN401 - Any part.
    read = _read(field.kind, value, where)
    if not field.has_room_for(read):
        raise _wrong(where, f"{_shown(value)} is not from 0 to {field.greatest}")
    return read


def _read_one_of(kinds: Sequence[Any], value: Any, where: str) -> Any:  # noqa: ANN401 - Any part.
    """Return a value of that one of several types to which its form belongs."""
    if value is None and type(None) in kinds:
        return None
    kinds = [one for one in kinds if one is not type(None)]
    if not isinstance(value, dict):
        plain = [one for one in kinds if not is_dataclass(one)]
        if plain or len(kinds) == 1:
            return _read((plain or kinds)[0], value, where)
    else:
        for kind in filter(is_dataclass, kinds):
            variant = getattr(kind, "VARIANT", None)
            if variant is not None and [*value] == [variant]:
                return _read(kind, value[variant], f"{where}.{variant}")
            names = [one.name for one in fields(kind)]
            if variant is None and (len(kinds) == 1 or [*value] == names):
                return _read(kind, value, where)
    forms = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise _wrong(where, f"{_shown(value)} is no form of {forms}")
