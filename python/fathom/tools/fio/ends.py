"""When fio ends a job, in DiskSpd's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom.tools._units import fio_number, fio_percent, read_fio_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools.notes import Notes

__all__ = ["ends_of", "last_block_note", "reach_bytes"]

_ALL = 100


def reach_bytes(options: Mapping[str, str], files: int) -> int:
    """Return how many bytes a job goes over in its files, as far as it says so; else 0."""
    made = _bytes("filesize", options.get("filesize", "").partition("-")[0])
    behind = max(made - _bytes("offset", options.get("offset", "")), 0)
    told = [_bytes("size", options.get("size", "")), files * behind]
    return min((one for one in told if one), default=0)


def _bytes(name: str, text: str) -> int:
    return 0 if not text or text.endswith("%") else read_fio_size(name, text)


def ends_of(
    options: dict[str, str], reach: int, access: Sequence[str], notes: Notes, *, timed: bool
) -> dict[str, int]:
    """Return after how many I/Os and bytes each thread ends; fio takes what comes first.

    Each thread of fio ends with a whole block.
    """
    for name in ("steadystate", "ss", "ss_dur", "ss_ramp", "steadystate_duration"):
        if name in options:
            options.pop(name)
            notes.remark(name, "see --stop-steady, which judges range and slope together")
    given = {name: options.pop(name) for name in ("number_ios", "io_size") if name in options}
    if _is_nought(given.get("io_size", "")):
        # As if it had not been given.
        del given["io_size"]
    if timed:
        for name in given:
            notes.remark(name, "ends no job of fio that is time_based")
        return {}
    if "number_ios" not in given and "io_size" not in given:
        notes.load("time_based", "without it a fio job ends once it has moved as many bytes as "
                   "its range has; DiskSpd goes on to the end of its time, or add --stop-pass "
                   "(sequential) or --stop-bytes")  # fmt: skip
        return {}
    if fio_number("numjobs", options.get("numjobs", "1")) > 1:
        notes.remark(next(iter(given)), "fio counts for each thread, DiskSpd for all together")
    found = {}
    if "number_ios" in given:
        found["--stop-ios"] = fio_number("number_ios", given["number_ios"])
    return found | _last_byte(given.get("io_size"), reach, access, notes)


def _last_byte(
    io_size: str | None, reach: int, access: Sequence[str], notes: Notes
) -> dict[str, int]:
    """Return after how many bytes a thread ends, and whether with its walk."""
    found = {} if io_size else _pass(reach, access, notes)
    moved = _moved(io_size, reach, notes) if io_size else reach
    if moved:
        found |= _bytes_moved("io_size" if io_size else "size", moved, access, notes)
    return found


def _pass(reach: int, access: Sequence[str], notes: Notes) -> dict[str, int]:
    """Return the end of a walk, behind which fio begins no other unless io_size says so.

    Where it moves each byte of a range that is known, the count of its bytes is that end.
    """
    strides = [one[2:] for one in access if re.fullmatch(r"-s\d*[KMGT]?", one)]
    if not strides or (reach and not strides[0]):
        return {}
    if any(one.startswith("--") for one in access):
        notes.load("number_ios", "without io_size a fio job ends at the end of its range, too; "
                   "DiskSpd goes on")  # fmt: skip
        return {}
    # It has no count: each thread ends with its own walk.
    return {"--stop-pass": 0}


def _is_nought(text: str) -> bool:
    return bool(text) and not read_fio_size("io_size", text.removesuffix("%"))


def _moved(text: str, reach: int, notes: Notes) -> int:
    """Return after how many bytes a thread ends; of a share, it is one of the job's size."""
    if not text.endswith("%"):
        return read_fio_size("io_size", text)
    percent = fio_percent("io_size", text)
    if not reach:
        notes.load("io_size", f"{text} of a size that the job does not say in bytes: add "
                   "--stop-bytes")  # fmt: skip
    return reach * percent // _ALL


def _bytes_moved(name: str, moved: int, access: Sequence[str], notes: Notes) -> dict[str, int]:
    if any("block-mix=" in one for one in access):
        notes.load(name, "DiskSpd counts no bytes where I/Os have different sizes; fio ends "
                   f"after {moved} of each thread")  # fmt: skip
        return {}
    block = next(read_fio_size("bs", one[2:]) for one in access if one.startswith("-b"))
    return {"--stop-bytes": -(-moved // block) * block}


def last_block_note(walk: Sequence[str], places: Sequence[str], notes: Notes) -> None:
    """Note where fio takes one block more than DiskSpd: it begins one wherever a byte is left."""
    sizes = [one[2:] for one in places if one.startswith("-f")]
    sizes += [one.partition(":")[2] for one in places if one.startswith("-B") and ":" in one]
    if not sizes or any(one.startswith("-c") for one in places):
        return
    block = next(one[2:] for one in walk if one.startswith("-b"))
    stride = next((one[2:] for one in walk if one.startswith("-s")), "") or block
    length, size, step = (read_fio_size("size", one) for one in (sizes[0], block, stride))
    if (length - 1) // step * step + size > length >= size:
        notes.load("size", "fio begins a block wherever the range has a byte left, and goes beyond "
                   "it if the file does; DiskSpd ends with the last whole block")  # fmt: skip
