"""The examples on the pages of the documentation, as the tests run them.

A block marked ``console`` has commands (``$ ``) and what they print, in which ``...`` stands for
anything; a block marked ``pycon`` is a doctest; a block marked ``python`` is run. A comment above a
block says what differs: ``<!-- exit: 5 -->``, ``<!-- not run: why -->``, or ``<!-- stable: these
words | and these -->`` for the parts, in their order, that are shown and have to be printed again.
A block below ``<!-- file: name -->``, in any language, is put into a file of the scratch folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Block", "Command", "blocks", "commands"]

_ONLY_FILES = ("toml", "xml", "text")
_FENCE = re.compile(
    r"(?:^<!-- (?P<what>exit|not run|stable|file): (?P<value>[^\n]+?) -->\n+)?"
    r"^```(?P<kind>console|pycon|python|toml|xml|text)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One block of a page; ``line`` is that of its first line of text."""

    kind: str
    text: str
    line: int
    exit_code: int
    reason_not_run: str | None
    stable: list[str]
    file: str | None = None


class Command(NamedTuple):
    """A command of the shell, what it shall print, and the line of the page it stands on."""

    command: str
    printed: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the marked blocks of a page in their order."""
    text = page.read_text()
    found = [_block(text, found) for found in _FENCE.finditer(text)]
    # What is no example of a language that is run is one only where it is put into a file.
    return [block for block in found if block.kind not in _ONLY_FILES or block.file is not None]


def _block(text: str, found: re.Match[str]) -> Block:
    what, value = found["what"], found["value"]
    return Block(
        kind=found["kind"],
        text=found["text"],
        line=text.count("\n", 0, found.start("text")) + 1,
        exit_code=int(value) if what == "exit" else 0,
        reason_not_run=value if what == "not run" else None,
        stable=value.split(" | ") if what == "stable" else [],
        file=value if what == "file" else None,
    )


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block; a line that ends with a backslash goes on."""
    found: list[Command] = []
    lines = iter(enumerate(block.text.splitlines(), start=block.line))
    for number, line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)[1].removeprefix("> ")
            found.append(Command(command, "", number))
        elif found:
            found[-1] = found[-1]._replace(printed=f"{found[-1].printed}{line}\n")
        else:
            raise ValueError(f"line {number}: output without a command above it")
    return found
