"""A workload: DiskSpd arguments with a name, a reason and a source, as a TOML file.

::

    title = "SQL Server OLTP, 70 % reads of 8K"
    reason = "Why these arguments stand for it."
    sources = ["Where that is written."]
    left_out = ["What of the real thing is not in it."]     # may be absent
    size = "4G"                                             # of a file that does not exist yet
    arguments = ["-b8K", "-r", "-w30", "-t8", "-o16", "-Sh", "-L"]

    [[steps]]                                               # several runs: each adds its arguments
    label = "10K"
    arguments = ["-b10K"]

    [matrix]                                                # or every combination of one of each
    block = [["-b4K"], ["-b8K"]]
    mix = [["-w0"], ["-w100"]]
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from fathom._permission import refuse_permissions
from fathom._toml import read_toml
from fathom.engine import load_of
from fathom.errors import FathomError, InvalidRequestError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Step", "Workload", "WorkloadError", "WorkloadRefusedError", "read_workload"]

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SIZE = re.compile(r"[1-9]\d*[KMGT]")
_KEYS = {"title", "reason", "sources", "left_out", "size", "arguments", "steps", "matrix"}
# A name that no target has; parsing touches nothing.
_NOWHERE = "workload.dat"
_GREATEST_STEPS = 1_000


class WorkloadError(FathomError):
    """A workload's file is wrong; the message names the file and the key."""


class WorkloadRefusedError(WorkloadError, RefusedError):
    """A workload's file allows what only a person may allow; nothing was run."""


@dataclass(frozen=True)
class Step:
    """One run of a workload: arguments without the target; the label is "" if it is alone."""

    label: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Workload:
    """Arguments with a name, a reason and a source.

    ``size`` is what a file that does not exist yet is created with, such as ``4G``.
    """

    name: str
    title: str
    reason: str
    sources: tuple[str, ...]
    left_out: tuple[str, ...]
    size: str
    steps: tuple[Step, ...]
    path: Path

    @property
    def writes(self) -> bool:
        """Whether any of its runs writes."""
        loads = (load_of([*step.arguments, _NOWHERE]) for step in self.steps)
        spans = (span for load in loads for span in load.profile.time_spans)
        targets = (target for span in spans for target in span.targets)
        return any(one.write_percent or one.extensions.trim_percent for one in targets)


def read_workload(path: Path) -> Workload:
    """Read a workload's file; its name is the file's.

    Raises
    ------
    WorkloadError
        If the file cannot be read or is wrong.
    WorkloadRefusedError
        If it has what only a person may allow (``--overwrite``, ``--allow-write``).

    """
    if not _NAME.fullmatch(path.stem):
        raise WorkloadError(
            f"{path}: {path.stem!r} cannot be a workload's name: use small letters, digits and "
            "dashes between them"
        )
    try:
        data = read_toml(path)
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: {error}") from error
    return _Reader(path, data).workload()


class _Reader:
    """Reads the keys of one file; each fault names file and key."""

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self._path = path
        self._data = data

    def workload(self) -> Workload:
        unknown = sorted(set(self._data) - _KEYS)
        if unknown:
            raise self._fault(unknown[0], f"no such key; there are {', '.join(sorted(_KEYS))}")
        size = self._text("size")
        if not _SIZE.fullmatch(size):
            raise self._fault("size", f"{size!r} is no size such as 512M or 4G")
        steps = self._steps(self._texts(self._data.get("arguments"), "arguments"))
        for key, step in steps:
            self._check(key, step)
        return Workload(
            name=self._path.stem,
            title=self._text("title"),
            reason=self._text("reason").strip(),
            sources=self._texts(self._data.get("sources"), "sources"),
            left_out=self._texts(self._data.get("left_out", []), "left_out", least=0),
            size=size,
            steps=tuple(step for _key, step in steps),
            path=self._path,
        )

    def _steps(self, common: Sequence[str]) -> list[tuple[str, Step]]:
        """Return the steps, each with the key that a fault in it is reported for."""
        has_steps, has_matrix = "steps" in self._data, "matrix" in self._data
        if has_steps and has_matrix:
            raise self._fault("matrix", "a workload has steps or a matrix, not both")
        if has_steps:
            found = self._listed(common)
        elif has_matrix:
            found = self._combined(common)
        else:
            found = [("arguments", Step("", tuple(common)))]
        labels = [step.label for _key, step in found]
        double = next((one for one in labels if labels.count(one) > 1), None)
        if double is not None:
            raise self._fault("steps" if has_steps else "matrix", f"{double!r} is there twice")
        return found

    def _listed(self, common: Sequence[str]) -> list[tuple[str, Step]]:
        entries = self._data["steps"]
        if not isinstance(entries, list) or not entries:
            raise self._fault("steps", "is to be a list of tables: [[steps]]")
        found = []
        for number, entry in enumerate(entries, start=1):
            key = f"steps, number {number}"
            if not isinstance(entry, dict) or set(entry) != {"label", "arguments"}:
                raise self._fault(key, "has a label and arguments, and nothing else")
            if not isinstance(entry["label"], str) or not entry["label"]:
                raise self._fault(f"{key}, label", "is to be a text")
            more = self._texts(entry["arguments"], f"{key}, arguments")
            found.append((key, Step(entry["label"], (*common, *more))))
        return found

    def _combined(self, common: Sequence[str]) -> list[tuple[str, Step]]:
        axes = self._data["matrix"]
        if not isinstance(axes, dict) or not axes:
            raise self._fault("matrix", "is to be a table of lists")
        choices = []
        for name, values in axes.items():
            if not isinstance(values, list) or not values:
                raise self._fault(f"matrix.{name}", "is to be a list of lists of arguments")
            choices.append([self._texts(value, f"matrix.{name}") for value in values])
        # Counted before they are made: a few lines of a file can ask for more than memory holds.
        count = math.prod(len(one) for one in choices)
        if count > _GREATEST_STEPS:
            raise self._fault("matrix", f"makes {count} runs; {_GREATEST_STEPS} at most")
        return [
            (
                "matrix",
                Step(" ".join(part for one in way for part in one), (*common, *sum(way, ()))),
            )
            for way in product(*choices)
        ]

    def _check(self, key: str, step: Step) -> None:
        try:
            refuse_permissions(step.arguments, f"{self._path}: {key}")
        except RefusedError as error:
            raise WorkloadRefusedError(str(error)) from None
        if any(not argument.startswith("-") for argument in step.arguments):
            raise self._fault(key, "an argument begins with a dash; targets are given when it runs")
        try:
            load_of([*step.arguments, _NOWHERE])
        except InvalidRequestError as error:
            raise self._fault(key, str(error)) from error

    def _text(self, key: str) -> str:
        value = self._data.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._fault(key, "is missing" if value is None else "is to be a text")
        return value

    def _texts(self, value: object, key: str, *, least: int = 1) -> tuple[str, ...]:
        if value is None:
            raise self._fault(key, "is missing")
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self._fault(key, "is to be a list of texts")
        if len(value) < least:
            raise self._fault(key, "is empty")
        return tuple(value)

    def _fault(self, key: str, what: str) -> WorkloadError:
        return WorkloadError(f"{self._path}: {key}: {what}")
