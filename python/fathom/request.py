"""What is to be run, whole and typed: one type from the command line to the store and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from fathom import _fathom
from fathom._fathom import InvalidRequestError
from fathom._request_parts import Profile, RunOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["REQUEST_VERSION", "Request"]

REQUEST_VERSION = 1
"""The version of the form that is read here; the engine's constant has the same name."""

_PROFILE_ALONE = 0


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
        return cls.from_dict(json.loads(_fathom.request_of([*words])))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form; whether it can be run is seen when it is.

        Raises
        ------
        InvalidRequestError
            If it is of a newer version, or not of this form.

        """
        version = data.get("request_version")
        if version not in (_PROFILE_ALONE, REQUEST_VERSION):
            raise InvalidRequestError(
                f"this request has version {version} of the form; "
                f"this package reads version {REQUEST_VERSION} and older ones"
            )
        try:
            return cls(
                profile=_read(Profile, data["profile"]),
                options=_read(RunOptions, data["options"]),
                request_version=version,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidRequestError(f"this is no request: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, that of ``schema/request.schema.json``."""
        written: dict[str, Any] = _written(self)
        return written

    def to_json(self) -> str:
        """Return the JSON form as text."""
        return json.dumps(self.to_dict())

    @property
    def knows_options(self) -> bool:
        """Whether the options are those of the run, and not merely unknown."""
        return self.request_version != _PROFILE_ALONE

    def on(self, *paths: str) -> Self:
        """Return the same request on other targets: as many, in the same order."""
        spans = self.profile.time_spans
        if any(len(span.targets) != len(paths) for span in spans):
            raise InvalidRequestError(f"the request has not {len(paths)} targets in each time span")
        moved = (
            replace(
                span,
                targets=tuple(
                    replace(target, path=path)
                    for target, path in zip(span.targets, paths, strict=True)
                ),
            )
            for span in spans
        )
        return replace(self, profile=replace(self.profile, time_spans=tuple(moved)))

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - Any JSON.
        """Return a part of the load in its JSON form."""
        return self.to_dict()["profile"][key]


def _written(value: Any) -> Any:  # noqa: ANN401 - Any part of a request.
    if isinstance(value, tuple):
        return [_written(one) for one in value]
    if not is_dataclass(value):
        return value
    data = {one.name.rstrip("_"): _written(getattr(value, one.name)) for one in fields(value)}
    variant = getattr(value, "VARIANT", None)
    return data if variant is None else {variant: data}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, value: Any) -> Any:  # noqa: ANN401 - Any part of a request.
    """Return a value of this type; what an older version did not tell takes its default."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_one_of(get_args(kind), value)
    if origin is tuple:
        return tuple(_read(get_args(kind)[0], one) for one in value)
    if origin is Literal:
        if value not in get_args(kind):
            raise TypeError(f"{value!r} is none of {', '.join(map(repr, get_args(kind)))}")
        return value
    if is_dataclass(kind):
        return _read_fields(kind, value)
    if type(value) is not kind:
        raise TypeError(f"{value!r} stands where {kind.__name__} should")
    return value


def _read_fields(kind: Any, value: Mapping[str, Any]) -> Any:  # noqa: ANN401 - Any part.
    hints = _hints(kind)
    known = {one.name.rstrip("_"): one.name for one in fields(kind)}
    if unknown := [key for key in value if key not in known]:
        raise TypeError(f"{kind.__name__} has no {unknown[0]!r}")
    return kind(**{known[key]: _read(hints[known[key]], one) for key, one in value.items()})


def _read_one_of(kinds: Sequence[Any], value: Any) -> Any:  # noqa: ANN401 - Any part.
    """Return a value of that one of several types to which its form belongs."""
    if value is None and type(None) in kinds:
        return None
    kinds = [one for one in kinds if one is not type(None)]
    if not isinstance(value, dict):
        plain = [one for one in kinds if not is_dataclass(one)]
        return _read((plain or kinds)[0], value)
    for kind in kinds:
        if not is_dataclass(kind):
            continue
        variant = getattr(kind, "VARIANT", None)
        if variant is not None and [*value] == [variant]:
            return _read(kind, value[variant])
        if variant is None and (len(kinds) == 1 or [*value] == [one.name for one in fields(kind)]):
            return _read(kind, value)
    raise TypeError(f"{value!r} is no form of {' or '.join(map(str, kinds))}")
