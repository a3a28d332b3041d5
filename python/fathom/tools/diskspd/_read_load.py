"""DiskSpd's settings: what a command line and the input parameters of a result tell.

The words are those of DiskSpd's ``ResultParser.cpp`` and ``Profile.cpp``
(https://github.com/microsoft/diskspd), as versions 2.0.12 to 2.3 print them.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from fathom._numbers import whole_number
from fathom.imported.model import ImportedLoad, ImportedTarget
from fathom.tools._lines import bytes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Settings", "command_settings", "mixed_by", "read_setting"]

_T = TypeVar("_T")
_PERCENT = 100.0
_BLOCKS, _PLACES = "block_bytes", "random_percent"
# Sentences without a value. They change no figure of a load, and are kept as they stand.
_SENTENCES = re.compile(
    r"(?:using|measuring|gathering IOPS|software|hardware|local software|memory mapped|"
    r"zeroing|generating|"
    r"affinity|advanced affinity|WARNING: this|be compared|throughput|IO Distribution:|"
    r"buffer separation|completion depth|write data|fsync|fdatasync|trims|shares of|pattern of|"
    r"block sizes|stop rule|thread pool|relative IO weight|offsets are|reads follow|writes follow)"
    r"\b.*|IO Distribution:",
    re.IGNORECASE,
)
_DISTRIBUTION = re.compile(r"\d+% of IO => \[.*\)(?: of target)?")
# Windows takes a slash for a dash; elsewhere a word that begins so is the path of a target.
_SLASHED = re.compile(r"/(?:rd(?:pct|abs).*|[^/.]*)")
_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9 /()-]{1,60}?): ?(.*)")


@dataclass
class Settings:
    """What is known of one time span; lists have one entry for each target."""

    duration_s: float | None = None
    warm_up_s: float | None = None
    threads: int | None = None
    outstanding: list[int] = field(default_factory=list)
    block_bytes: list[int] = field(default_factory=list)
    write_percent: list[float] = field(default_factory=list)
    random_percent: list[float] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    # What differs among the I/Os of one target, so that no one figure says it.
    mixed: set[str] = field(default_factory=set)

    def load(self, told: Settings) -> ImportedLoad:
        """Return the load; what is missing here is taken from a command line's settings."""

        def one(mine: list[_T], others: list[_T]) -> _T | None:
            values = set(mine or others)
            return values.pop() if len(values) == 1 else None

        mixed = self.mixed | told.mixed

        return ImportedLoad(
            block_bytes=None if _BLOCKS in mixed else one(self.block_bytes, told.block_bytes),
            threads=self.threads if self.threads is not None else told.threads,
            outstanding=one(self.outstanding, told.outstanding),
            write_percent=one(self.write_percent, told.write_percent),
            random_percent=None
            if _PLACES in mixed
            else one(self.random_percent, told.random_percent),
            duration_s=told.duration_s if self.duration_s is None else self.duration_s,
            warm_up_s=told.warm_up_s if self.warm_up_s is None else self.warm_up_s,
        )

    def targets(self, told: Settings, sizes: dict[str, str]) -> tuple[ImportedTarget, ...]:
        """Return the targets, with the sizes that the tables tell."""
        paths = dict.fromkeys([*(self.paths or told.paths), *sizes])
        if sizes:
            # The tables name what was measured; the command line may be cut or abbreviated.
            paths = dict.fromkeys(sizes)
        texts = {path: sizes.get(path, "") for path in paths}
        return tuple(ImportedTarget(path, bytes_of(text), text) for path, text in texts.items())


def command_settings(command_line: str) -> Settings:
    """Return what a command line asks for, with DiskSpd's defaults for what it leaves out.

    A profile has settings that the line does not repeat: these are unknown.
    """
    if not command_line:
        return Settings()
    try:
        words = shlex.split(command_line.replace("\\", "\\\\"))
    except ValueError:
        words = command_line.split()
    options, paths = _options_and_paths(words[1:])
    is_profile = any(word.startswith("-X") for word in options)
    found = Settings(paths=paths) if is_profile else _defaults(paths)
    per_file, in_all, pooled = 1, 0, 0
    for word in options:
        name, value = word[:2], word[2:]
        if name == "-t":
            per_file = whole_number(value) or per_file
        elif name == "-F":
            in_all = whole_number(value) or in_all
        elif name == "-O":
            pooled = whole_number(value) or pooled
        else:
            _option(found, name, value)
    if in_all and pooled:
        found.outstanding = [pooled]
    if not is_profile:
        found.threads = in_all or per_file * max(len(paths), 1)
    return found


def _defaults(paths: list[str]) -> Settings:
    return Settings(
        outstanding=[2],
        block_bytes=[65536],
        write_percent=[0.0],
        random_percent=[0.0],
        paths=paths,
    )


def _options_and_paths(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options, each with a dash before it, and the targets."""
    options: list[str] = []
    paths: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return options, [*paths, *words[at + 1 :]]
        if len(word) > 1 and (word[0] == "-" or _SLASHED.fullmatch(word)):
            options.append(f"-{word[1:]}")
        else:
            paths.append(word)
    return options, paths


def _option(found: Settings, name: str, value: str) -> None:
    if name == "-b" and bytes_of(value):
        found.block_bytes = [bytes_of(value) or 0]
    elif name == "-o" and (depth := whole_number(value)) is not None:
        found.outstanding = [depth]
    elif name == "-w":
        found.write_percent = [float(whole_number(value) or 0)]
    elif name == "-r":
        _random(found, value)
    elif name == "--":
        found.mixed |= mixed_by(f"{name}{value}")
    elif name == "-d" and (seconds := whole_number(value)) is not None:
        found.duration_s = float(seconds)
    elif name == "-W" and (seconds := whole_number(value)) is not None:
        found.warm_up_s = float(seconds)


def mixed_by(text: str) -> set[str]:
    """Return what differs among the I/Os of a target by a setting of ours, in any of its forms."""
    sizes = re.search(r"\bblock[ -](?:sizes|mix)\b|[ ,]block(?:=| size )", text)
    pattern = re.match(r"pattern of|(?:--)?(?:read|write)-pattern\b", text)
    return {*([_BLOCKS] if sizes else []), *([_PLACES] if pattern else [])}


def _random(found: Settings, value: str) -> None:
    """Take one of ``-r``, ``-rs`` and ``-rd``, which stand beside each other in any order."""
    mixed = re.fullmatch(r"s([0-9]{1,3})", value)
    if mixed:
        found.random_percent = [float(mixed[1])]
    elif found.random_percent == [0.0] and not value.startswith("d"):
        found.random_percent = [_PERCENT]


def read_setting(settings: Settings, text: str) -> bool:
    """Take one line of the input parameters; whether it is one."""
    if _figure(settings, text):
        return True
    if _SENTENCES.fullmatch(text) or _DISTRIBUTION.fullmatch(text):
        settings.more.setdefault("settings", []).append(text)
        settings.mixed |= mixed_by(text)
        return True
    match = _PAIR.fullmatch(text)
    if match is None or match[1].lower() not in _NAMES:
        return False
    settings.more[match[1].lower()] = match[2]
    return True


# What DiskSpd prints as a name and its value.
_NAMES = {
    "timespan",
    "random seed",
    "think time",
    "burst size",
    "cool down time",
    "thread stride size",
    "stride size",
    "base file offset",
    "max file size",
    "file size",
    "io priority",
    "write buffer size",
    "write buffer source",
    "relative io weight in thread pool",
    "experiment flags",
    "computer name",
    "start time",
    "cpu count",
    "core count",
    "group count",
    "node count",
    "socket count",
    "heterogeneous cores",
    "active power scheme",
    "proc count",
    "request count",
}


def _figure(settings: Settings, text: str) -> bool:
    """Take a line that tells a figure of the load."""
    for pattern, take in _FIGURES:
        match = pattern.fullmatch(text)
        if match is not None:
            take(settings, match.groups())
            return True
    return False


def _add_blocks(settings: Settings, groups: Sequence[str]) -> None:
    size = bytes_of(groups[0])
    if size is not None:
        settings.block_bytes.append(size)


def _add_writes(settings: Settings, groups: Sequence[str | None]) -> None:
    kind, order, first, second = groups
    if kind == "mix":
        # Until 2.0.15 it says how many writes of 100, then how many reads and how many writes.
        share = first if order == "write/read" else second
        settings.write_percent.extend([] if share is None else [float(share)])
    else:
        settings.write_percent.append(_PERCENT if kind == "write" else 0.0)


def _add_place(settings: Settings, groups: Sequence[str]) -> None:
    kind, share = groups
    shares = {"random": _PERCENT, "mixed random/sequential": float(share or 0)}
    settings.random_percent.append(shares.get(kind, 0.0))


def _set(name: str) -> Any:  # noqa: ANN401 - A function of the catalogue below.
    def take(settings: Settings, groups: Sequence[str]) -> None:
        setattr(settings, name, float(groups[0]))

    return take


def _add_outstanding(settings: Settings, groups: Sequence[str]) -> None:
    # A pool of threads without -O says 0 for itself, and each of its targets what counts there.
    if int(groups[0]):
        settings.outstanding.append(int(groups[0]))


def _add_path(settings: Settings, groups: Sequence[str]) -> None:
    settings.paths.append(groups[0])


def _pool(settings: Settings, groups: Sequence[str]) -> None:
    settings.threads = int(groups[0])


_FIGURES: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"duration: ?([0-9]{1,18})s?"), _set("duration_s")),
    (re.compile(r"warm up time: ?([0-9]{1,18})s?"), _set("warm_up_s")),
    (re.compile(r"path: ?['\"](.*)['\"]"), _add_path),
    (re.compile(r"block size: ?(\d[\d.]*\s*[KMGT]?i?B?)"), _add_blocks),
    (
        re.compile(
            r"performing (read|write|mix) test"
            r"(?: \((\w+/\w+) ratio: ?([0-9]{1,18})/([0-9]{1,18})\))?",
        ),
        _add_writes,
    ),
    (
        re.compile(
            r"using (random|sequential|interlocked sequential|mixed random/sequential) I/O"
            r"(?: \(([0-9]{1,18})% random\))?(?: \(.*\))?"
        ),
        _add_place,
    ),
    (
        re.compile(r"number of outstanding I/O operations(?: per thread)?: ?([0-9]{1,18})"),
        _add_outstanding,
    ),
    (re.compile(r"thread pool with ([0-9]{1,18}) threads"), _pool),
    (
        re.compile(r"threads per file: ?([0-9]{1,18})"),
        lambda settings, groups: settings.more.update({"threads per file": groups[0]}),
    ),
)
