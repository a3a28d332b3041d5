"""fio's job options in the terms of a load.

Names and defaults are those of fio's documentation, "Job file parameters"
(https://fio.readthedocs.io/en/latest/fio_doc.html).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fathom.imported.model import ImportedLoad, ImportedTarget
from fathom.tools.fio.names import files_of
from fathom.units import KIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["load_of", "targets_of"]

_SIZE = re.compile(r"([0-9]{1,15})([kmgtp]?)b?", re.IGNORECASE)


def load_of(names: Sequence[str], options: Sequence[Mapping[str, Any]]) -> ImportedLoad:
    """Return what a group of jobs was asked for, by the name and the options of each.

    Without ``group_reporting`` each clone of a job (``numjobs``) is listed; with it, one stands for
    all.
    """
    threads = 0
    for name in dict.fromkeys(names):
        same = [one for other, one in zip(names, options, strict=True) if other == name]
        threads += max(len(same), _count(same[0].get("numjobs")) or 1)
    kinds = {str(one.get("rw", one.get("readwrite", "read"))).partition(":")[0] for one in options}
    (kind,) = kinds if len(kinds) == 1 else (None,)
    known = any(options)
    return ImportedLoad(
        block_bytes=_one([_block_bytes(one) for one in options]) if known else None,
        threads=threads,
        outstanding=_one([_count(one.get("iodepth", 1)) for one in options]) if known else None,
        write_percent=_write_percent(kind, options[0]) if known else None,
        random_percent=_random_percent(kind, options[0]) if known else None,
        duration_s=_seconds(options[0].get("runtime")),
        warm_up_s=_seconds(options[0].get("ramp_time")),
    )


def _one(values: Sequence[int | None]) -> int | None:
    return values[0] if len(set(values)) == 1 else None


def _block_bytes(options: Mapping[str, Any]) -> int | None:
    """Return the block size if there is one: fio's default is 4 KiB."""
    if {"bsrange", "bssplit", "blocksize_range"} & set(options):
        return None
    text = str(options.get("bs", options.get("blocksize", "4k")))
    sizes = {_count(part) for part in text.split(",") if part}
    return sizes.pop() if len(sizes) == 1 else None


def _count(value: object) -> int | None:
    """Read a size or a number as fio does: k is 1024."""
    match = _SIZE.fullmatch(str(value).strip())
    if match is None:
        return None
    power = " kmgtp".index(match[2].lower() or " ")
    return int(match[1]) * int(KIB**power)


def _write_percent(kind: str | None, options: Mapping[str, Any]) -> float | None:
    if kind in ("read", "randread"):
        return 0.0
    if kind in ("write", "randwrite"):
        return 100.0
    if kind not in ("rw", "readwrite", "randrw"):
        return None
    if "rwmixwrite" in options:
        return float(_count(options["rwmixwrite"]) or 0)
    reads = _count(options.get("rwmixread", 50))
    return None if reads is None else 100.0 - reads


def _random_percent(kind: str | None, options: Mapping[str, Any]) -> float | None:
    if kind is None:
        return None
    if not kind.startswith("rand"):
        return 0.0
    share = _count(options.get("percentage_random", 100))
    return None if share is None else float(share)


def _seconds(value: object) -> float | None:
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,18})?)(us|ms|s|m|h|)", str(value))
    if match is None:
        return None
    factor = {"us": 1e-6, "ms": 1e-3, "m": 60.0, "h": 3600.0}.get(match[2], 1.0)
    return float(match[1]) * factor


def targets_of(options: Sequence[Mapping[str, Any]]) -> tuple[ImportedTarget, ...]:
    """Return the files that jobs name."""
    # Several files of one job are parted by colons, of which a name may hold escaped ones.
    names = [files_of(str(one["filename"])) for one in options if "filename" in one]
    paths = dict.fromkeys(path for several in names for path in several)
    size = _count(options[0].get("size"))
    return tuple(ImportedTarget(path, size if len(paths) == 1 else None) for path in paths)
