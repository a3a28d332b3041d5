"""What a sweep varies: ranges and lists of values of DiskSpd's options."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fathom._addresses import is_address
from fathom._hanging import must_answer
from fathom._permission import options_and_names
from fathom.errors import InvalidRequestError
from fathom.units import SIZES, block_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats.floats import FloatArray

__all__ = ["OPTIONS", "SMOOTH", "Axis", "Grid", "load_arguments", "parse_axes", "parse_counts"]

OPTIONS = {"block": "-b", "threads": "-t", "depth": "-o", "write": "-w"}
"""The parameters that have a name of their own."""

SMOOTH = ("block", "threads", "depth")
"""The parameters between whose values the speed of storage has a course; others are names."""

# Which DiskSpd reads as plain numbers: 1K is 1024.
_COUNTS = ("threads", "depth", "write")
# No size or count has more digits, and Python reads no number of thousands of them.
_NUMBER = re.compile(r"([0-9]{1,18})([KMGT]?)", re.IGNORECASE)
_COUNT = re.compile(r"\s*0*([0-9]+)([KMGT]?)\s*", re.IGNORECASE)
# What the engine takes of an option; DiskSpd's own reader would take the end of its range for more.
_MOST = {
    "-t": (65_536, "threads"),
    "-F": (65_536, "threads"),
    "-o": (2**31 - 1, "outstanding I/Os"),
}
_GREATEST_VALUES = 1_000
_GREATEST_CELLS = 100_000
# Duration and stop rules are the experiment's own.
_TIMES = ("-d", "-W", "--stop-")


@dataclass(frozen=True)
class Axis:
    """One parameter and its values, as DiskSpd is to read them behind the option.

    ``positions`` are the logarithms to the base 2 of values that have a course, else None.
    """

    name: str
    option: str
    values: tuple[str, ...]
    positions: tuple[float, ...] | None


def parse_axes(named: Mapping[str, str], others: Sequence[str] = ()) -> tuple[Axis, ...]:
    """Read axes: ``{"block": "4K..2M"}``, and others as ``--rate=1000..8000`` or ``-rs=10,50,100``.

    A range doubles from its first value to its last.

    Raises
    ------
    InvalidRequestError
        If one of them is wrong, or named twice.

    """
    axes = [_axis(name, OPTIONS[name], text) for name, text in named.items()]
    for one in others:
        name, equals, text = one.partition("=")
        if not name.startswith("-") or not equals:
            raise InvalidRequestError(
                f"--vary {one}: write the option, = and its values, such as --rate=1000..8000"
            )
        axes.append(_axis(name, f"{name}=" if name.startswith("--") else name, text))
    options = [axis.option for axis in axes]
    if len(set(options)) < len(options):
        raise InvalidRequestError(f"an option is varied twice: {' '.join(options)}")
    return tuple(axes)


def parse_counts(name: str, text: str) -> tuple[int, ...]:
    """Return counts such as those of ``1..16``, which doubles, or of ``1,2,3``, rising.

    Raises
    ------
    InvalidRequestError
        If one is no count of at least 1, or stands twice.

    """
    axis = _axis(name, name, text)
    counts = [_number(name, one) for one in axis.values]
    if min(counts) < 1:
        raise InvalidRequestError(f"{name} {text}: a value is at least 1")
    return tuple(sorted(counts))


def _axis(name: str, option: str, text: str) -> Axis:
    # Messages name the option as it is typed.
    said = {"write": "--writes"}.get(name, f"--{name}" if name in OPTIONS else name)
    values: list[str] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        _refuse_too_many(said, OPTIONS.get(name, option), text, last if dots else first)
        values += _doubling(said, first, last) if dots else [part.strip()]
    if not all(values):
        raise InvalidRequestError(f"{said} {text}: a value is missing")
    if len({_same(one) for one in values}) < len(values):
        raise InvalidRequestError(f"{said} {text}: a value stands twice")
    if len(values) > _GREATEST_VALUES:
        raise InvalidRequestError(f"{said} {text}: more than {_GREATEST_VALUES} values")
    numbers = [_NUMBER.fullmatch(one) for one in values]
    if name in OPTIONS and not all(numbers):
        raise InvalidRequestError(f"{said} {text}: a value is not a number such as 8 or 64K")
    if name in _COUNTS:
        values = [str(_number(said, one)) for one in values]
    if name not in SMOOTH:
        return Axis(name, option, tuple(values), None)
    sizes = [_number(said, one) for one in values]
    if min(sizes) < 1:
        raise InvalidRequestError(f"{said} {text}: a value is at least 1")
    return Axis(name, option, tuple(values), tuple(math.log2(size) for size in sizes))


def _refuse_too_many(said: str, option: str, text: str, greatest: str) -> None:
    most, what = _MOST.get(option, (None, ""))
    found = _COUNT.fullmatch(greatest)
    if most is not None and found is not None and _count(found) > most:
        raise InvalidRequestError(
            f"{said} {text}: {greatest.strip()} is too many, a run has at most {most} {what}"
        )


def _count(found: re.Match[str]) -> int:
    # Python reads no number of thousands of digits.
    return 10**18 if len(found[1]) > 18 else int(found[1]) * SIZES[found[2].upper()]  # noqa: PLR2004


def _same(text: str) -> int | str:
    """Return what two spellings of one value have in common: ``1M`` and ``1024K``, 1 and 01."""
    found = _NUMBER.fullmatch(text)
    return text if found is None else int(found[1]) * SIZES[found[2].upper()]


def _number(name: str, text: str) -> int:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        why = "too large" if _COUNT.fullmatch(text) else "no number such as 8 or 64K"
        raise InvalidRequestError(f"{name}: {text!r} is {why}")
    return int(found[1]) * SIZES[found[2].upper()]


def _doubling(name: str, first: str, last: str) -> list[str]:
    number, end = _number(name, first), _number(name, last)
    if not 0 < number <= end:
        raise InvalidRequestError(f"{name} {first}..{last}: a range rises, from 1 or more")
    sized = any(one[-1:].isalpha() for one in (first.strip(), last.strip()))
    values = []
    while number < end:
        values.append(number)
        number *= 2
    return [_text(one, sized=sized) for one in (*values, end)]


def _text(number: int, *, sized: bool) -> str:
    return block_words(number, "TGMK") if sized else str(number)


class Grid:
    """All combinations of the values of axes; a cell is its number.

    Attributes
    ----------
    axes
        What is varied.
    slices
        The cells, by the values of the axes that have no course: within each the others have one.

    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        """Combine them.

        Raises
        ------
        InvalidRequestError
            If there is no axis, or there are more than 100,000 cells.

        """
        self.axes = tuple(axes)
        count = int(np.prod([len(axis.values) for axis in axes], dtype=float)) if axes else 0
        if not 0 < count <= _GREATEST_CELLS:
            raise InvalidRequestError(
                "nothing is varied: give --block 4K..2M, --threads 1..64 or --depth 1..64"
                if not axes
                else f"{count:,} cells are more than {_GREATEST_CELLS:,}"
            )
        self._places = list(product(*(range(len(axis.values)) for axis in axes)))
        by_name: dict[tuple[int, ...], list[int]] = {}
        for cell, place in enumerate(self._places):
            names = zip(self.axes, place, strict=True)
            key = tuple(at for axis, at in names if axis.positions is None)
            by_name.setdefault(key, []).append(cell)
        self.slices = list(by_name.values())

    def __len__(self) -> int:
        """Return how many cells there are."""
        return len(self._places)

    def corners(self) -> list[int]:
        """Return a cell for each extreme value of an axis, and each name, where others are last."""
        courses = [axis.positions or range(len(axis.values)) for axis in self.axes]
        last = [int(np.argmax(course)) for course in courses]
        found = set()
        for at, axis in enumerate(self.axes):
            ends = (int(np.argmin(courses[at])), last[at])
            for value in range(len(axis.values)) if axis.positions is None else ends:
                found.add((*last[:at], value, *last[at + 1 :]))
        return [cell for cell, place in enumerate(self._places) if place in found]

    def parameters(self, cell: int) -> dict[str, str]:
        """Return the value of each axis by its name."""
        place = zip(self.axes, self._places[cell], strict=True)
        return {axis.name: axis.values[at] for axis, at in place}

    def arguments(self, cell: int) -> list[str]:
        """Return the options that make a cell."""
        place = zip(self.axes, self._places[cell], strict=True)
        return [f"{axis.option}{axis.values[at]}" for axis, at in place]

    def label(self, cell: int) -> str:
        """Return a cell in words, such as ``block=4K depth=8``."""
        return " ".join(f"{name}={value}" for name, value in self.parameters(cell).items())

    def features(self, cells: Sequence[int]) -> FloatArray:
        """Return the coordinates in which neighbours resemble each other, one row for each cell.

        What counts of threads and depth is most of all their product, so it has a coordinate.
        """
        smooth = {
            axis.name: np.array([axis.positions[self._places[cell][at]] for cell in cells])
            for at, axis in enumerate(self.axes)
            if axis.positions is not None and len(axis.values) > 1
        }
        if "threads" in smooth and "depth" in smooth:
            threads, depth = smooth.pop("threads"), smooth.pop("depth")
            root = np.sqrt(2)
            smooth |= {"product": (threads + depth) / root, "ratio": (threads - depth) / root}
        columns = [column - column.mean() for column in smooth.values()]
        return np.column_stack(columns) if columns else np.zeros((len(cells), 0))


def load_arguments(arguments: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return the arguments that all runs share; ``options`` are those that the experiment sets.

    A target alone is read at random, past the cache; a file that does not exist is made with 1 GiB.

    Raises
    ------
    InvalidRequestError
        If there is no target, or an option is given that the experiment sets.

    """
    before, names = options_and_names(arguments)
    given = [one for one in before if one.startswith("-")]
    plain = [one for one in before if not one.startswith("-")]
    targets = [*plain, *names[1:]]
    if not targets:
        raise InvalidRequestError("there is no target: name a file, or give DiskSpd arguments")
    for one in given:
        if any(one.startswith(option) for option in (*options, *_TIMES)):
            raise InvalidRequestError(
                f"{one} is what this experiment sets itself; its own options say how"
            )
    if given:
        return [*([] if "-L" in given else ["-L"]), *arguments]
    paths = [one for one in targets if not one.startswith(("#", "*")) and not is_address(one)]
    must_answer(paths)
    made = all(Path(path).exists() for path in paths)
    return ["-r", "-Sh", "-L", *([] if made else ["-c1G"]), *plain, *names]
