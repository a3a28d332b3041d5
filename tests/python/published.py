"""The command lines of diskspd that people publish, and those of our own pages, made short.

``data/published.txt`` holds those of five documents in their order, each as it stands there; what
their scripts loop over stands in ``VALUES``. Paths of Windows become paths below the working
folder, sizes and times become small; all else stays.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["documents", "lines_in", "lines_of_a_page", "runnable", "short", "targets"]

_PUBLISHED = Path(__file__).parent / "data" / "published.txt"
_LINE = re.compile(
    r"diskspd(?:\.exe)?((?:\s+(?:-[A-Za-z][\w,$]*|\\?\$[A-Za-z]+))*)((?:[ ]+[\w.:\\-]+\.dat\b)+)",
    re.IGNORECASE,
)
_FENCED = re.compile(r"(<!-- exit: 2 -->\n+)?^```[a-z]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"-[dW](?:\d+|\$\w+)")
# Some of what the scripts put in for their variables.
VALUES = {
    "$b": ("-b4k", "-b2048k"),
    "$c": ("-t1", "-t8"),
    "$d": ("-o1", "-o8"),
    "$param": ("-o1", "-o24"),
    "$paramo": ("-o8", "-o1"),
    "$paramt": ("-t1", "-t8"),
}
_LEAST, _MOST, _SMALLER_BY = 1 << 20, 4 << 20, 256


def lines_in(text: str) -> list[str]:
    """Return the command lines with targets in a text, in their order."""
    found = [f"{options} {files}" for options, files in _LINE.findall(text)]
    return [" ".join(["diskspd", *line.replace("\\$", "$").split()]) for line in found]


def documents() -> dict[str, list[str]]:
    """Return the command lines of each document."""
    found: dict[str, list[str]] = {}
    for line in _PUBLISHED.read_text().splitlines():
        if line.startswith("= "):
            lines = found[line[2:]] = []
        elif line and not line.startswith("#"):
            lines.append(line)
    return found


def lines_of_a_page(page: Path) -> list[str]:
    """Return the lines of a page that measure, but for those that show a refusal."""
    text = "".join(block for refused, block in _FENCED.findall(page.read_text()) if not refused)
    words = r"""(?:'[^'\n]*'|[^\n|>#'])+"""
    lines = re.findall(rf"^(?:\$ )?((?:diskspd|fathom run) {words})", text, re.MULTILINE)
    return [line.strip() for line in lines]


def runnable(line: str) -> bool:
    """Tell whether a line names a file to load: no device, placeholder, kept run or question."""
    no_load = re.search(
        r"/dev/|\.\.\.|@\d|\w+://|\\\\|--(?:version|doctor|list|verify-only|runner|fleet)|[A-Z]{4}",
        line,
    )
    return no_load is None


def short(line: str) -> Iterator[list[str]]:
    """Give the arguments of a line, small and short, once or for each turn of its loop."""
    words = shlex.split(line.replace("\\", "/"))
    words = words[2:] if words[0] == "fathom" else words[1:]
    words = [_word(word) for word in words if not _TIME.fullmatch(word)]
    if not targets(words):
        return
    first = words.index(targets(words)[0])
    words[first:first] = ["-d1", "-W0", "--stop-ios=40"]
    for turn in range(max(len(VALUES.get(word, ("",))) for word in words)):
        yield [VALUES[word][turn] if word in VALUES else word for word in words]


def _word(word: str) -> str:
    if word.startswith("-c"):
        return f"-c{_small(word[2:])}"
    if word.endswith((".dat", ".img")):
        return word.lower().replace("c:/", "").replace(":", "").lstrip("/")
    return word


def _small(size: str) -> int:
    unit = 1 << 10 * (" KMGT".index(size[-1].upper()) if size[-1].isalpha() else 0)
    whole = int(size.rstrip("kKmMgGtT")) * int(unit)
    return min(max(whole // _SMALLER_BY, _LEAST), _MOST)


def targets(arguments: list[str]) -> list[str]:
    """Return the files among arguments."""
    return [word for word in arguments if word.endswith((".dat", ".img"))]
