"""fio's order, place and size of I/Os in DiskSpd's words; what is read is taken out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.tools._units import fio_number, fio_percent, read_fio_size

if TYPE_CHECKING:
    from fathom.tools.notes import Notes

__all__ = ["access_arguments"]

_ALL = 100
_RW = re.compile(r"(rand)?(read|write|rw|trim|readwrite|trimwrite)(?::(-?\w+))?")
_DEFAULT_BLOCK_BYTES = 4096  # fio(1), `blocksize`.


def access_arguments(options: dict[str, str], notes: Notes) -> list[str]:
    """Return block size, order, mix and range."""
    found = _RW.fullmatch(options.pop("rw", "read"))
    if found is None or "trim" in found[2]:
        raise InvalidRequestError("rw: there is read, write, rw, and each with rand before it")
    is_random, kind, more = bool(found[1]), found[2], found[3]
    block = _block(options, notes)
    arguments = [*block.arguments]
    if is_random:
        arguments += _random(options, block, more, notes)
    else:
        arguments += _sequential(options, block, more, notes)
    arguments += _mix(options, kind, is_random=is_random, notes=notes)
    arguments += _range(options, notes)
    for name in ("fsync", "fdatasync"):
        every = fio_number(name, options.pop(name, "0"))
        if every and kind != "read":
            arguments.append(f"--{name}={every}")
    return arguments


class _Block:
    def __init__(self, least_bytes: int, arguments: list[str]) -> None:
        self.least_bytes = least_bytes
        self.arguments = arguments


def _block(options: dict[str, str], notes: Notes) -> _Block:
    if "bsrange" in options:
        low = options.pop("bsrange").split("-", maxsplit=1)[0]
        notes.load("bsrange", "DiskSpd has shares of sizes (--block-mix), no range; the least "
                   "size is taken")  # fmt: skip
        return _plain(read_fio_size("bsrange", low))
    if "bssplit" in options:
        options.pop("bs", None)
        return _split(options.pop("bssplit"))
    # What is left out has the default; what does not end in a comma holds for all behind it, too. A
    # third size is that of trims (fio(1), `blocksize`).
    sizes = [
        read_fio_size("bs", one) if one else _DEFAULT_BLOCK_BYTES
        for one in options.pop("bs", "").split(",")
    ]
    reads, writes = sizes[0], sizes[min(1, len(sizes) - 1)]
    if reads == writes:
        return _plain(reads)
    parts = [f"--read-block-mix={reads}:100", f"--write-block-mix={writes}:100"]
    return _Block(min(reads, writes), [f"-b{reads}", *parts])


def _plain(size_bytes: int) -> _Block:
    return _Block(size_bytes, [f"-b{_short(size_bytes)}"])


def _split(text: str) -> _Block:
    """Read ``bssplit=4k/60:8k/40``, for reads and writes apart behind a comma (fio(1))."""
    mixes = [_shares(part) for part in text.split(",")]
    least = min(size for mix in mixes for size, _ in mix)
    words = [",".join(f"{_short(size)}:{share}" for size, share in mix) for mix in mixes]
    names = ["--block-mix"] if len(mixes) == 1 else ["--read-block-mix", "--write-block-mix"]
    pairs = [f"{name}={mix}" for name, mix in zip(names, words, strict=False)]
    return _Block(least, [f"-b{_short(least)}", *pairs])


def _shares(text: str) -> list[tuple[int, int]]:
    pairs = []
    for one in text.split(":"):
        size, _, share = one.partition("/")
        pairs.append(
            (read_fio_size("bssplit", size), fio_percent("bssplit", share) if share else -1)
        )
    missing = [share for _, share in pairs if share < 0]
    left = _ALL - sum(share for _, share in pairs if share >= 0)
    return [(size, share if share >= 0 else left // len(missing)) for size, share in pairs]


def _short(size_bytes: int) -> str:
    for shift, unit in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if size_bytes and size_bytes % (1 << shift) == 0:
            return f"{size_bytes >> shift}{unit}"
    return str(size_bytes)


def _random(options: dict[str, str], block: _Block, more: str | None, notes: Notes) -> list[str]:
    align = options.pop("ba", None)
    arguments = ["-r" if align is None else f"-r{_short(read_fio_size('ba', align))}"]
    if options.pop("norandommap", None) in (None, "0"):
        notes.load("norandommap", "fio visits each block once before any again; DiskSpd draws "
                   "each offset anew")  # fmt: skip
    percent = fio_percent(
        "percentage_random", options.pop("percentage_random", "100").split(",")[0]
    )
    if percent == 0:
        return ["-s"]
    if more is not None:
        count = fio_number("rw", more)
        if not count:
            raise InvalidRequestError(f"rw: {more} I/Os in a row are none")
        notes.load("rw", f"{count} I/Os in a row between random offsets; DiskSpd's runs have this "
                   "length on average")  # fmt: skip
        percent = max(round(_ALL / count), 1)
    if percent < _ALL:
        arguments.append(f"-rs{percent}")
    options.pop("random_generator", None)
    del block
    return arguments + _distribution(options.pop("random_distribution", "random"), notes)


def _distribution(text: str, notes: Notes) -> list[str]:
    kind, _, rest = text.partition(":")
    if kind == "random":
        return []
    if kind in ("zipf", "pareto"):
        return [f"--skew={kind}:{rest.split('/')[0] or ('1.1' if kind == 'zipf' else '0.2')}"]
    if kind == "normal":
        return [f"--skew=normal:{rest}%"]
    if kind in ("zoned", "zoned_abs"):
        zones = [one.partition("/")[::2] for one in rest.split(",")[0].split(":")]
        if kind == "zoned":
            return ["-rdpct" + ":".join(f"{share}/{size}" for share, size in zones)]
        sizes = [(share, _short(read_fio_size("zone", size))) for share, size in zones]
        return ["-rdabs" + ":".join(f"{share}/{size}" for share, size in sizes)]
    notes.load("random_distribution", f"DiskSpd has no {kind}")
    return []


def _sequential(
    options: dict[str, str], block: _Block, more: str | None, notes: Notes
) -> list[str]:
    options.pop("norandommap", None)
    if "ba" in options:
        options.pop("ba")
        notes.remark("blockalign", "has no meaning for sequential I/O")
    arguments = ["-s"]
    if more is not None:
        sign = -1 if more.startswith("-") else 1
        stride = block.least_bytes + sign * read_fio_size("rw", more.lstrip("-"))
        if stride < 1:
            raise InvalidRequestError(f"rw: DiskSpd does not walk backwards ({more})")
        arguments = [f"-s{_short(stride)}"]
    increment = options.pop("offset_increment", None)
    if increment and options.get("numjobs", "1") != "1":
        arguments.append(f"-T{_short(read_fio_size('offset_increment', increment))}")
    return arguments


def _mix(options: dict[str, str], kind: str, *, is_random: bool, notes: Notes) -> list[str]:
    reads = options.pop("rwmixread", None)
    writes = options.pop("rwmixwrite", None)
    if kind == "read":
        return []
    percent = _ALL
    if kind in ("rw", "readwrite"):
        percent = (
            _ALL - fio_percent("rwmixread", reads or "50")
            if writes is None
            else fio_percent("rwmixwrite", writes)
        )
        if not is_random and 0 < percent < _ALL:
            # fio's two walks are DiskSpd's patterns, which also keep the shares exactly.
            notes.remark("rwmixwrite", "DiskSpd keeps the share exactly; fio draws it")
            return [f"-w{percent}", "--read-pattern=sequential", "--write-pattern=sequential"]
    return [f"-w{percent}"]


def _range(options: dict[str, str], notes: Notes) -> list[str]:
    """Return the range, and the file's size; a file of fio is as large as ``size`` says."""
    arguments = []
    size, offset = options.pop("size", None), options.pop("offset", None)
    made = options.pop("filesize", None)
    if size and size.endswith("%"):
        notes.load("size", "DiskSpd has no ranges in percent: give -f or -B in bytes")
        size = None
    if offset and offset.endswith("%"):
        notes.load("offset", "DiskSpd has no offsets in percent: give -B in bytes")
        offset = None
    size_bytes = read_fio_size("size", size) if size else 0
    base = read_fio_size("offset", offset) if offset else 0
    if made:
        arguments.append(f"-c{_short(read_fio_size('filesize', made.split('-')[0]))}")
    elif size_bytes:
        notes.remark("size", "fio makes a file of this size if there is none; add -c for it")
    if base:
        arguments.append(f"-B{_short(base)}{f':{_short(size_bytes)}' if size_bytes else ''}")
    elif size_bytes:
        arguments.append(f"-f{_short(size_bytes)}")
    return arguments
