"""Results as the store keeps them: JSON, compressed with what all results have in common.

A result is mostly names of fields, which are the same in each, and the lower ends of the buckets of
its histograms. These have a number each (ten bits behind the leading one), and the numbers rise by
few. So the ends are kept as steps from number to number, and zlib is given a dictionary (RFC 1950,
"FDICT") of what a usual result looks like. The dictionaries are files of this package that never
change; which one was used stands in the data (its Adler-32). What was saved before has none, and is
read as it is.
"""

from __future__ import annotations

import json
import re
import zlib
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_small", "pack_json", "repack", "unpack_json"]

# The newest one; those before stay, for what they were used for.
_DICTIONARIES = ("dictionary-1.json",)
_LEVEL, _MEMORY = 9, 9
# Compressed, a few KiB can stand for more than memory holds.
_MOST_BYTES = 1 << 30
_HEADER_BYTES, _HAS_DICTIONARY = 6, 0x20
_ENDS = re.compile(r'"bucket_lower_ns":\[(\d+(?:,\d+)*)\]')
_STEPS = re.compile(r'"bucket_steps":\[(-?\d+(?:,-?\d+)*)\]')
_STEPS_NAME = '"bucket_steps":['
# Ends have 11 significant bits at most.
_BITS = 11
_HALF = 1 << (_BITS - 1)
_KNOWN_ENDS = 1 << 14


def pack_json(data: Mapping[str, Any]) -> bytes:
    """Return JSON, compressed."""
    return _packed(json.dumps(data, separators=(",", ":")))


def repack(packed: bytes) -> bytes:
    """Return what was packed, as it is packed now.

    Raises
    ------
    ValueError
        If it is damaged.

    """
    return packed if is_small(packed) else _packed(unpack_json(packed))


def is_small(packed: bytes) -> bool:
    """Whether something is packed as it would be now."""
    return _dictionary_of(packed) == zlib.adler32(_dictionary(_DICTIONARIES[-1]))


def unpack_json(packed: bytes) -> str:
    """Return the JSON that was compressed.

    Raises
    ------
    ValueError
        If it is damaged, or has more than 1 GiB, as no result has.

    """
    known = _dictionary_of(packed)
    if known is None:
        return _decompressed(packed, b"").decode()
    found = next(
        (one for one in map(_dictionary, _DICTIONARIES) if zlib.adler32(one) == known), b""
    )
    return _STEPS.sub(_as_ends, _decompressed(packed, found).decode())


def _packed(text: str) -> bytes:
    # What looks like ours and is not could not be told from it later.
    if _STEPS_NAME in text:
        return zlib.compress(text.encode(), _LEVEL)
    packer = zlib.compressobj(
        _LEVEL,
        zlib.DEFLATED,
        zlib.MAX_WBITS,
        _MEMORY,
        zlib.Z_DEFAULT_STRATEGY,
        _dictionary(_DICTIONARIES[-1]),
    )
    return packer.compress(_ENDS.sub(_as_steps, text).encode()) + packer.flush()


def _decompressed(packed: bytes, dictionary: bytes) -> bytes:
    unpacker = zlib.decompressobj(zdict=dictionary) if dictionary else zlib.decompressobj()
    try:
        data = unpacker.decompress(packed, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"it is damaged ({error})") from error
    if not unpacker.eof:
        raise ValueError("it is damaged, or of absurd size")
    return data


def _as_steps(found: re.Match[str]) -> str:
    ends = found[1].split(",")
    numbers = [number for number in map(_number_of, ends) if number is not None]
    # A histogram of another layout is left as it is.
    if len(numbers) < len(ends):
        return found[0]
    steps = (str(after - before) for before, after in pairwise([0, *numbers]))
    return f"{_STEPS_NAME}{','.join(steps)}]"


def _as_ends(found: re.Match[str]) -> str:
    numbers = accumulate(map(int, found[1].split(",")))
    return f'"bucket_lower_ns":[{",".join(map(_end_of, numbers))}]'


# Histograms have mostly the same buckets.
@lru_cache(maxsize=_KNOWN_ENDS)
def _number_of(end: str) -> int | None:
    """Return the number of the bucket with this lower end, or None if no bucket has it."""
    lower = int(end)
    shift = max(lower.bit_length() - _BITS, 0)
    number = shift * _HALF + (lower >> shift)
    return number if _end_of(number) == end else None


@lru_cache(maxsize=_KNOWN_ENDS)
def _end_of(number: int) -> str:
    if number < 2 * _HALF:
        return str(number)
    shift, rest = divmod(number - _HALF, _HALF)
    return str((_HALF + rest) << shift)


def _dictionary_of(packed: bytes) -> int | None:
    if len(packed) < _HEADER_BYTES or not packed[1] & _HAS_DICTIONARY:
        return None
    return int.from_bytes(packed[2:_HEADER_BYTES], "big")


@cache
def _dictionary(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()
