"""What the targets of this folder share: how they are run, and how inputs are changed.

An input is a head, which is one line that says what the rest is taken for, and that rest. Bytes
changed at random seldom leave a table, a configuration or a page of text in a shape that is read
beyond its first line, so most changes are of whole lines, words and numbers.
"""

from __future__ import annotations

import random
import re
import sys
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Mutator", "fuzz", "head_and_rest"]

_TOKEN = re.compile(rb"[A-Za-z_]+|\d+(?:\.\d+)?|[^\sA-Za-z_\d]")
# What a reader may take for a number, and should not or cannot hold.
_ODD = [b"", b"0", b"-1", b"-0.0", b"1", b"7", b"100", b"101", b"0.5", b"1e999", b"1e-400", b"nan"]
_ODD += [b"inf", b"9" * 19, b"9" * 40, b"9" * 400, b"9" * 4400, b"0x10", b"1_0", b"null", b"true"]
_ODD += [b"[]", b"{}", b'""', b"%", b":", b",", b"/", b"\t", b"\r", b"\0", b"=", b"-", b"<", b"&"]
# Digits to isdigit() or isdecimal(), of which int() takes the first alone; and breaks of lines that
# only str.splitlines() knows.
_ODD += ["\u0663".encode(), "\u00b2".encode(), "\u2028".encode(), b"\x0b", b"\x85", b"\xff"]
# Fewer levels than json.loads() takes, and more than copying or printing them does.
_ODD += [b"[" * 700 + b"]" * 700]
_FEW = 3
_RARELY = 0.03


def head_and_rest(data: bytes) -> tuple[str, bytes]:
    """Return the first line, and what follows it."""
    head, _, rest = data.partition(b"\n")
    return head.decode("utf-8", "replace"), rest


def _token(chance: random.Random, rest: bytes) -> tuple[int, int]:
    """Return where a token stands, looked for from a place by chance."""
    found = _TOKEN.search(rest, chance.randint(0, len(rest)))
    return found.span() if found else (len(rest), len(rest))


def _copy_token(chance: random.Random, rest: bytes) -> bytes:
    start, end = _token(chance, rest)
    to_start, to_end = _token(chance, rest)
    return rest[:to_start] + rest[start:end] + rest[to_end:]


def _replace_token(chance: random.Random, rest: bytes) -> bytes:
    start, end = _token(chance, rest)
    return rest[:start] + chance.choice(_ODD) + rest[end:]


def _insert_word(chance: random.Random, rest: bytes) -> bytes:
    _start, end = _token(chance, rest)
    return rest[:end] + chance.choice(_ODD) + rest[end:]


def _lines(rest: bytes) -> list[bytes]:
    return rest.split(b"\n")


def _swap_lines(chance: random.Random, rest: bytes) -> bytes:
    lines = _lines(rest)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _drop_line(chance: random.Random, rest: bytes) -> bytes:
    lines = _lines(rest)
    start = chance.randrange(len(lines))
    del lines[start : start + chance.randint(1, _FEW)]
    return b"\n".join(lines)


def _double_line(chance: random.Random, rest: bytes) -> bytes:
    lines = _lines(rest)
    start = chance.randrange(len(lines))
    doubled = lines[start : start + chance.randint(1, _FEW)]
    to = chance.randint(0, len(lines))
    return b"\n".join([*lines[:to], *doubled, *lines[to:]])


def _cut(chance: random.Random, rest: bytes) -> bytes:
    return rest[: chance.randint(0, len(rest))]


def _change_line(chance: random.Random, rest: bytes) -> bytes:
    """Let libFuzzer change one line, so that it does not run into others."""
    lines = _lines(rest)
    at = chance.randrange(len(lines))
    lines[at] = atheris.Mutate(lines[at] or b" ", len(lines[at]) + 64)
    return b"\n".join(lines)


_WAYS = (
    _swap_lines,
    _drop_line,
    _double_line,
    _cut,
    _copy_token,
    _replace_token,
    _replace_token,
    _insert_word,
    _change_line,
)


def fuzz(one_input: Callable[[bytes], None], heads: Sequence[str]) -> None:
    """Run a target as libFuzzer's arguments say; what ``one_input`` raises ends the process."""
    # To merge corpora, libFuzzer runs a shell with the first argument and those behind it.
    arguments = [f"{sys.executable} {sys.argv[0]}", *sys.argv[1:]]
    atheris.Setup(arguments, one_input, custom_mutator=Mutator(heads))
    atheris.Fuzz()


class Mutator:
    """Changes inputs that begin with one of these heads."""

    def __init__(self, heads: Sequence[str]) -> None:
        """Take the heads."""
        self._heads = [head.encode() for head in heads]

    def __call__(self, data: bytes, max_size: int, seed: int) -> bytes:
        """Return a changed input of at most this size, the same for the same seed."""
        chance = random.Random(seed)  # noqa: S311 - Chance, not a secret.
        head, _, rest = data.partition(b"\n")
        if head not in self._heads or chance.random() < _RARELY:
            head = chance.choice(self._heads)
        room = max(max_size - len(head) - 1, 1)
        if chance.random() < 1 / _FEW:
            rest = atheris.Mutate(rest or b"\n", room)
        else:
            for _ in range(chance.randint(1, _FEW)):
                rest = chance.choice(_WAYS)(chance, rest)
        return (head + b"\n" + rest[:room])[:max_size]
