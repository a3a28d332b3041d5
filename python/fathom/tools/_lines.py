"""Lines of DiskSpd's text as blogs, mails and word processors leave them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, Overflow

from fathom.units import NS_PER_MS, SIZES

__all__ = [
    "Line",
    "bytes_of",
    "decimal",
    "is_rule",
    "lines_of",
    "nanoseconds",
    "normal",
    "raw_lines",
]

# Dashes, quotes and spaces that editors put in place of the plain ones (Unicode's general
# categories Pd, Pi, Pf and Zs), and marks that have no width.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008", " "),
        **dict.fromkeys("\u2009\u200a\u202f\u205f\u3000\t\x0b\x0c\x85\u2028\u2029", " "),
        **dict.fromkeys("\ufeff\u200b\u200c\u200d\u2060\u00ad", None),
        **dict.fromkeys("\u2502\uff5c\u00a6", "|"),
    }
)
_NUMBER_OF_BULLET = re.compile(r"^[\u2022\u25cf\u25aa>]\s*")
_END = re.compile(r"\r\n|\n|\r")
_RULE = re.compile(r"[-*=_.\s|+]*")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?\s*")
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
# Far more than any figure, and far less than what sums and products of floats overflow at.
_MOST = 1e30


@dataclass(frozen=True)
class Line:
    """A line with its number from 1, as it stands there, and with plain characters."""

    number: int
    raw: str
    text: str


def normal(text: str) -> str:
    """Return a line with plain dashes, quotes and spaces, and no more than one space in a row."""
    plain = " ".join(text.replace("&nbsp;", " ").translate(_PLAIN).split())
    return _NUMBER_OF_BULLET.sub("", plain)


def raw_lines(text: str) -> list[str]:
    """Return all lines as an editor numbers them: str.splitlines() knows further ends of lines."""
    parts = _END.split(text)
    return parts if parts[-1] else parts[:-1]


def lines_of(text: str) -> list[Line]:
    """Return all lines of a text, whichever way they end."""
    parts = _END.split(text)
    return [Line(number, raw, normal(raw)) for number, raw in enumerate(parts, start=1)]


def is_rule(text: str) -> bool:
    """Whether a line is empty or drawn."""
    return _RULE.fullmatch(text) is not None


def decimal(text: str) -> float | None:
    """Return a number as written; None of ``N/A``, of no number, and of an absurd one.

    Commas part thousands; of a decimal comma, digits would become another number.
    """
    plain = text.strip().removesuffix("%")
    if "," in plain and _THOUSANDS.fullmatch(plain) is None:
        return None
    try:
        found = float(Decimal(plain.replace(",", "")))
    except InvalidOperation:
        return None
    return found if abs(found) <= _MOST else None


def nanoseconds(text: str) -> float | None:
    """Return milliseconds as nanoseconds, without the error of a binary product."""
    try:
        found = float(Decimal(text.strip()) * NS_PER_MS)
    except (InvalidOperation, Overflow):
        return None
    return found if abs(found) <= _MOST else None


def bytes_of(text: str) -> int | None:
    """Return a size such as ``8192``, ``4KiB`` or ``8K``; DiskSpd's units are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    return round(float(match[1]) * SIZES[match[2].upper()])
