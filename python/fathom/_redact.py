"""Reports and exports for others to read: no host, serial number, path or user of the owner's.

What is taken out gets a name of its own, the same wherever it stands (``host-1``, ``disk-1``,
``path-1``), so that tables can still be joined and sides distinguished. Known values are found by
the fields that hold them and replaced in all texts; what looks like a path, a UUID or a world-wide
name is replaced wherever it stands.
"""

from __future__ import annotations

import getpass
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import fathom

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Pseudonyms", "pseudonyms_of"]

# What a field holds, by its name; the first that fits counts.
_FIELDS = (
    ("disk", re.compile(r"serial|wwn|wwid|world_wide")),
    ("id", re.compile(r"(^|_)(uuid|uid|guid)$")),
    ("host", re.compile(r"^(host_?name|computer_?name|node_name)$")),
    ("user", re.compile(r"^(user|user_?name|login|owner)$")),
    (
        "path",
        re.compile(r"(^|_)(paths?|file_?names?|director(y|ies)|mount_point|source_name|target)$"),
    ),
)
# What looks like one of these is one, wherever it stands. A path begins a word, or the value of an
# option such as -X, and goes on to its end.
_SHAPES = (
    ("id", re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")),
    ("disk", re.compile(r"\b(?:naa|eui|t10|nvme|uuid)\.[\w.-]{8,}|\b0x[0-9a-fA-F]{16}\b")),
    ("path", re.compile(r"(?:(?<![\w/:.<-])|(?<=-[A-Za-z]))(?:\.{0,2}/|~/)[^\s'\",;:()<>&|]+")),
    ("path", re.compile(r"\b[A-Za-z]:\\[^\s'\",;<>|]+|\\\\[\w.$-]+\\[^\s'\",;<>|]+")),
)
# What people write as they like, which may hold names of hosts and users in other words.
_FREE = re.compile(r"(^|_)(labels?|notes?|comments?|titles?|descriptions?|names?|words)$")
# A sentence that is one letter long would be no sentence.
_LEAST = 2
_HOME = re.compile(r"^/(?:home|Users)/([^/]+)(?:/|$)")


class Pseudonyms:
    """Names in place of what is not for others."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._known: re.Pattern[str] | None = None
        # Names of hosts and users in small letters, and texts that may hold them.
        self._people: dict[str, str] = {}
        self._free: set[str] = set()

    def learn(self, kind: str, value: str) -> None:
        """Take a value as one that is not for others."""
        value = value.strip()
        if len(value) < _LEAST or value in self._names:
            return
        self._names[value] = self._new(kind)
        # The word of --allow-write has no blanks.
        self._names.setdefault(value.replace(" ", "_"), self._names[value])
        if kind in ("host", "user"):
            self._people.setdefault(value.lower(), self._names[value])
            # A host is known by the first part of its name, too.
            self._people.setdefault(value.lower().split(".")[0], self._names[value])
        if kind == "path" and (user := _HOME.match(value)) is not None:
            self.learn("user", user[1])
        self._known = None

    def learn_fields(self, data: object, name: str = "") -> None:
        """Take what fields of these names hold, however deep."""
        if isinstance(data, Mapping):
            for key, one in data.items():
                # A host's own name stands in its ``name``.
                self.learn_fields(one, "host_name" if (name, key) == ("host", "name") else str(key))
        elif isinstance(data, list | tuple):
            for one in data:
                self.learn_fields(one, name)
        elif isinstance(data, str):
            kind = next((kind for kind, fits in _FIELDS if fits.search(name.lower())), None)
            if kind is not None:
                self.learn(kind, data)
            elif _FREE.search(name.lower()):
                self._free.add(data)
                self._known = None

    def _new(self, kind: str) -> str:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind}-{self._counts[kind]}"

    def text(self, words: str) -> str:
        """Return a text with names in place of what is not for others."""
        if self._names:
            if self._known is None:
                self._learn_free()
                ways = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
                self._known = re.compile(rf"(?<![\w.-])(?:{ways})(?![\w-])")
            words = self._known.sub(lambda found: self._names[found[0]], words)
            words = self._without_people(words, r"(?<![^\W_])(?:{})(?![^\W_])")
        for kind, shape in _SHAPES:
            words = shape.sub(partial(self._found, kind), words)
        return words

    def _learn_free(self) -> None:
        """Take texts that hold the name of a host or user anywhere, as in ``vmada``."""
        for one in self._free - self._names.keys():
            told = self._without_people(one, "(?:{})")
            if told != one:
                self._names[one] = told

    def _without_people(self, words: str, shape: str) -> str:
        names = sorted((one for one in self._people if len(one) >= _LEAST), key=len, reverse=True)
        if not names:
            return words
        pattern = re.compile(shape.format("|".join(map(re.escape, names))), re.IGNORECASE)
        return pattern.sub(lambda found: self._people[found[0].lower()], words)

    def _found(self, kind: str, found: re.Match[str]) -> str:
        return self._shaped(kind, found[0])

    def _shaped(self, kind: str, value: str) -> str:
        if value not in self._names:
            self._names[value] = self._new(kind)
        return self._names[value]

    def data(self, value: Any) -> Any:  # noqa: ANN401 - Whatever a report or an export is made of.
        """Return texts, lists, dictionaries and dataclasses of any depth without it."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, fathom.Result):
            return fathom.Result.from_json(json.dumps(self.data(dict(value.raw))))
        if isinstance(value, Mapping):
            # Names of fields stay; a place that is a key is a place all the same.
            return {
                self.text(key) if isinstance(key, str) and "/" in key else key: self.data(one)
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            return type(value)(self.data(one) for one in value)
        if is_dataclass(value) and not isinstance(value, type):
            mine = {one.name: self.data(getattr(value, one.name)) for one in fields(value)}
            return replace(value, **mine)
        return value


def pseudonyms_of(rows: Iterable[Mapping[str, object]]) -> Pseudonyms:
    """Return names for all that these rows tell: summaries of runs, and their targets."""
    found = Pseudonyms()
    for row in rows:
        found.learn_fields(dict(row))
    # Who exports may have written their own names anywhere; these two are nobody's.
    if (host := os.uname().nodename) != "localhost":
        found.learn("host", host)
    with suppress(KeyError, OSError):
        if (user := getpass.getuser()) != "root":
            found.learn("user", user)
    return found
