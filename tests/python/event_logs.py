"""Writes event logs of Windows (.evtx), as [MS-EVEN6] and libevtx's documentation describe them.

One chunk, and elements without templates: enough for what a reader has to find in a real one.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple, TypeAlias

__all__ = ["Logged", "event_log"]

_HEADER, _CHUNK, _CHUNK_HEADER = 4096, 65536, 512
# FILETIME counts 100 ns since 1601.
_EPOCH_S = 11_644_473_600


class Logged(NamedTuple):
    """An event: its number, who logged it, when in seconds since 1970, and its named values."""

    number: int
    provider: str
    channel: str
    computer: str
    at_unix_s: float
    system_time: str
    values: dict[str, str]


def event_log(events: list[Logged]) -> bytes:
    """Return a whole file."""
    chunk = bytearray(_CHUNK_HEADER)
    last = 0
    for number, event in enumerate(events, start=1):
        last = len(chunk)
        body = _Xml(len(chunk) + 24).event(event)
        size = 24 + len(body) + 4
        stamp = int((event.at_unix_s + _EPOCH_S) * 10_000_000)
        chunk += struct.pack("<IIQQ", 0x2A2A, size, number, stamp) + body + struct.pack("<I", size)
    free, count = len(chunk), len(events)
    assert free <= _CHUNK
    head = b"ElfChnk\0" + struct.pack("<QQQQ", 1, count, 1, count)
    head += struct.pack("<IIII", 128, last, free, zlib.crc32(chunk[_CHUNK_HEADER:]))
    chunk[: len(head)] = head
    chunk[124:128] = struct.pack("<I", zlib.crc32(chunk[:120] + chunk[128:_CHUNK_HEADER]))
    file = b"ElfFile\0" + struct.pack("<QQQIHHHH", 0, 0, count + 1, 128, 1, 3, _HEADER, 1)
    file = file.ljust(120, b"\0")
    file += struct.pack("<II", 0, zlib.crc32(file))
    return file.ljust(_HEADER, b"\0") + bytes(chunk).ljust(_CHUNK, b"\0")


# An element: its name, its attributes, and its text or the elements within it.
_Part: TypeAlias = "tuple[str, dict[str, str], str | list[_Part]]"


class _Xml:
    """Binary XML that begins at this offset of its chunk; names stand where they are used."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def event(self, event: Logged) -> bytes:
        head = b"\x0f\x01\x01\x00"
        system: list[_Part] = [
            ("Provider", {"Name": event.provider}, ""),
            ("EventID", {}, str(event.number)),
            ("TimeCreated", {"SystemTime": event.system_time}, ""),
            ("Channel", {}, event.channel),
            ("Computer", {}, event.computer),
        ]
        values: list[_Part] = [
            ("Data", {"Name": name}, text) for name, text in event.values.items()
        ]
        parts: list[_Part] = [("System", {}, system), ("EventData", {}, values)]
        return head + self._element("Event", {}, parts, self.offset + len(head)) + b"\0"

    def _element(
        self, name: str, attributes: dict[str, str], inside: str | list[_Part], at: int
    ) -> bytes:
        # The number of a dependency stands in templates alone.
        fixed = 5
        named = self._name(name, at + fixed)
        start = at + fixed + len(named)
        listed = b""
        if attributes:
            start += 4
            for number, (key, text) in enumerate(attributes.items(), start=1):
                token = b"\x46" if number < len(attributes) else b"\x06"
                part = token + self._name(key, start + len(listed) + 1) + self._text(text)
                listed += part
            listed = struct.pack("<I", len(listed)) + listed
        body = named + listed + b"\x02"
        if isinstance(inside, str):
            body += self._text(inside) if inside else b""
        else:
            for one in inside:
                body += self._element(*one, at + fixed + len(body))
        body += b"\x04"
        token = b"\x41" if attributes else b"\x01"
        return token + struct.pack("<I", len(body)) + body

    @staticmethod
    def _name(name: str, at: int) -> bytes:
        text = name.encode("utf-16-le")
        return struct.pack("<IIHH", at + 4, 0, 0, len(name)) + text + b"\0\0"

    @staticmethod
    def _text(text: str) -> bytes:
        return (
            b"\x05\x01"
            + struct.pack("<H", len(text.encode("utf-16-le")) // 2)
            + text.encode("utf-16-le")
        )
