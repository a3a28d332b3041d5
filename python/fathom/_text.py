"""Text of others, as it may be kept and shown: labels, names of files, models, addresses.

A terminal takes some characters as commands: to clear the screen, to write elsewhere, to turn
letters around. A name that somebody sent may hold them, so they are shown as escapes. An address
may hold a password, which is shown by nothing; and half of a character is no text at all.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import shlex
from typing import Any
from urllib.parse import quote, quote_plus, unquote

__all__ = [
    "decoded",
    "encoding_of",
    "has_half",
    "is_secret",
    "json_of",
    "one_line",
    "plain",
    "secrets_of",
    "shell_line",
    "without_halves",
    "without_secrets",
]

# The control characters of ECMA-48 (C0 but tab and line feed, DEL, C1), what orders text from right
# to left (Unicode, UAX #9), ends lines or is not seen at all, and bytes of names that are no text.
# The engine knows the same (crates/core/src/shown.rs).
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_LINE = re.compile("[\t\n]")
# Windows PowerShell redirects output into files of UTF-16.
_MARKS = {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_HALF = re.compile("[\ud800-\udfff]")
# A half that stands in JSON as an escape.
_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")

_HIDDEN = "***"
# The parameters of an address that are a secret or lead to one
# (https://www.postgresql.org/docs/current/libpq-connect.html), and what other programs call theirs.
_SECRETS = (
    "password|passwd|passphrase|sslpassword|passfile|secret|client_secret|token|apikey|api_key|"
    "access_key|scram_client_key|scram_server_key"
)
_VALUE = re.compile(
    rf"(?P<name>\b[\w%.-]*?(?:{_SECRETS})(?:\s*=\s*|%3[dD]))(?P<value>'(?:[^'\\]|\\.)*'|[^\s&;'\",]+)",
    re.IGNORECASE,
)
# A password may itself hold an @: the last one of the word ends it.
_USER = re.compile(r"(?P<before>\b[\w+.-]+://[^\s:/?#@'\"]*:)(?P<value>[^\s'\"]*)(?=@)")


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text by the mark that it begins with; without one, UTF-8."""
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")


def decoded(data: bytes, errors: str = "strict") -> str:
    """Return a text whose encoding is that of the mark that it begins with; without one, UTF-8.

    Raises
    ------
    UnicodeDecodeError
        If it is none, unless ``errors`` says what becomes of that.

    """
    return data.decode(encoding_of(data), errors)


def has_half(text: str) -> bool:
    """Whether a text holds half of a character, which no JSON and no file of text takes."""
    return _HALF.search(text) is not None


def plain(text: str) -> str:
    """Return a text in which nothing is a command to a terminal; tabs and line feeds stay."""
    return _COMMANDS.sub(_escaped, text)


def shell_line(line: str) -> str:
    """Return a line for a shell that may be shown: what would be commands to a terminal is spelt.

    The shell makes the same words of it (``$'...'`` of bash); a line of other quotes is only spelt.
    """
    if not _COMMANDS.search(line):
        return line
    command, mark, comment = line.partition("  # ")
    try:
        words = shlex.split(command)
    except ValueError:
        return plain(line)
    return f"{' '.join(map(_spelt, words))}{mark}{plain(comment)}"


def _spelt(word: str) -> str:
    if not _COMMANDS.search(word):
        return shlex.quote(word)
    plain_bytes = (chr(one) if " " <= chr(one) <= "~" else None for one in os.fsencode(word))
    pairs = zip(plain_bytes, os.fsencode(word), strict=True)
    inner = "".join(
        f"\\x{byte:02x}" if one is None else f"\\{one}" if one in "'\\" else one
        for one, byte in pairs
    )
    return f"$'{inner}'"


def one_line(text: str) -> str:
    """Return a text that begins no line of its own and gives no commands, such as for a name."""
    return _LINE.sub(_escaped, plain(text))


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    short = {"\n": "\\n", "\t": "\\t"}.get(found[0])
    if short is not None:
        return short
    # Python's own place for a byte that is no UTF-8 (PEP 383).
    if 0xDC80 <= number <= 0xDCFF:  # noqa: PLR2004 - The first and the last of them.
        number -= 0xDC00
    if number < 0x100:  # noqa: PLR2004 - One byte.
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"  # noqa: PLR2004 - Two.


def without_secrets(text: str, known: tuple[str, ...] = ()) -> str:
    """Return a text without the passwords of addresses, and without secrets that are ``known``."""
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    if "://" in text:
        text = _USER.sub(rf"\g<before>{_HIDDEN}", text)
    return _VALUE.sub(rf"\g<name>{_HIDDEN}", text)


def is_secret(name: str) -> bool:
    """Whether a parameter of this name is a secret, or leads to one."""
    return re.search(_SECRETS, name, re.IGNORECASE) is not None


def secrets_of(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return secrets in each way in which an address or a message may write them."""
    ways = {
        way
        for one in values
        for way in (one, quote(one), quote(one, safe=""), quote_plus(one), unquote(one))
    }
    # What is one letter stands everywhere.
    return tuple(one for one in ways if len(one) > 1)


def json_of(text: str, **how: Any) -> Any:  # noqa: ANN401 - JSON, and what ``json.loads`` takes.
    """Return what JSON says, in which halves of characters are replaced (U+FFFD).

    JSON may write them (RFC 8259, 8.2); no database, no file and no terminal takes them.

    Raises
    ------
    ValueError
        If it is no JSON.

    """
    found = json.loads(text, **how)
    return without_halves(found) if _HALF_ESCAPED.search(text) else found


def without_halves(value: Any) -> Any:  # noqa: ANN401 - JSON.
    """Return JSON in which halves of characters are replaced (U+FFFD)."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, dict):
        return {without_halves(name): without_halves(one) for name, one in value.items()}
    return [without_halves(one) for one in value] if isinstance(value, list) else value
