"""Tables that never show a part of a number, however narrow the terminal is.

Words fold at spaces alone. Paths and names get shorter in their middle. What does not fit so is
left out as a whole column, which is named; where that is not enough, each row becomes a block of
lines with all that it has.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom import _packages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

__all__ = ["LEAST_BAR", "WholeColumn", "WholeTable", "fitting", "folded", "shortened"]

# A character that nobody uses.
_SECOND = "\ue000"
_INDENT = "  "
# What is left of a path or a name where room is short, and what stands for the rest of it.
_LEAST_NAME = 24
_GAP = "..."
_HOW = "A wider terminal shows all, as --format csv does."
LEAST_BAR = 8
"""What a bar of progress needs beside its words, with what stands between them."""


@dataclass(frozen=True)
class WholeColumn:
    """A column: its title, and what it holds.

    Numbers never fold, nor do the lines of a column that ``is_whole``. Long words of a column of
    names, such as paths, get shorter in their middle. What is in a column that ``is_text`` is no
    number, though it may look like one.
    """

    title: str
    is_number: bool = False
    is_name: bool = False
    is_whole: bool = False
    is_text: bool = False

    def least(self, texts: Sequence[str]) -> int:
        """Return the width below which something of it would be cut."""
        keeps_lines = self.is_number or self.is_whole
        cells = max(map(_longest_line if keeps_lines else _longest_word, texts), default=0)
        if self.is_name and not self.is_whole:
            cells = min(cells, _LEAST_NAME)
        return max(_longest_word(self.title), cells) or 1

    def shown(self, text: str, width: int) -> str:
        """Return a cell as it is drawn in so many columns of the terminal."""
        if not self.is_name:
            return text
        return re.sub(r"\S+", lambda word: shortened(word[0], width), text)

    def most(self, texts: Sequence[str]) -> int:
        """Return the width beyond which nothing folds."""
        return max([_longest_line(self.title), *map(_longest_line, texts)], default=1) or 1


@dataclass(frozen=True)
class WholeTable:
    """Rows of text under columns, shown whole at any width.

    Attributes
    ----------
    spare
        The titles of the columns that may be left out, the first one first.
    is_boxed
        Whether it has lines.
    gap
        Between columns, where it has none.
    headings
        The places of rows that are titles of what follows.

    """

    columns: Sequence[WholeColumn]
    rows: Sequence[Sequence[str]]
    title: str = ""
    caption: str = ""
    spare: Sequence[str] = ()
    is_boxed: bool = True
    gap: int = 2
    headings: frozenset[int] = field(default_factory=frozenset)

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Draw the table, or blocks, with what is left out."""
        del console
        if self.title:
            yield _wrapped(self.title, options.max_width, style="italic")
        kept = self._kept(options.max_width)
        if kept is None:
            yield from self._blocks(options.max_width)
        else:
            yield self._table(kept, options.max_width)
            left = [one.title for at, one in enumerate(self.columns) if at not in kept]
            if left:
                names = ", ".join(one.strip() for one in left)
                words = f"Not shown, for want of room: {names}. {_HOW}"
                yield _wrapped(words, options.max_width)
        if self.caption:
            yield _wrapped(self.caption, options.max_width)

    def _texts(self, at: int) -> list[str]:
        return [row[at] for row in self.rows]

    def _kept(self, width: int) -> list[int] | None:
        """Return the columns that fit whole; None if those that must be there do not."""
        least = [one.least(self._texts(at)) for at, one in enumerate(self.columns)]
        titles = [one.title for one in self.columns]
        for count in range(len(self.spare) + 1):
            left = {titles.index(one) for one in self.spare[:count] if one in titles}
            kept = [at for at in range(len(titles)) if at not in left]
            if sum(least[at] for at in kept) + self._edges(len(kept)) <= width:
                return kept
        return None

    def _edges(self, count: int) -> int:
        return 3 * count + 1 if self.is_boxed else self.gap * max(count - 1, 0)

    def _table(self, kept: Sequence[int], width: int) -> _packages.Table:
        has_titles = any(self.columns[at].title for at in kept)
        table = _packages.Table(show_edge=self.is_boxed, show_header=has_titles)
        if not self.is_boxed:
            table.box, table.pad_edge, table.padding = None, False, (0, self.gap, 0, 0)
        widths = self._widths(kept, width)
        for at, column_width in zip(kept, widths, strict=True):
            column = self.columns[at]
            table.add_column(
                _packages.Text(column.title),
                justify="right" if column.is_number else "left",
                width=column_width,
                overflow="fold",
            )
        for number, row in enumerate(self.rows):
            style = "bold" if number in self.headings else ""
            cells = [
                _packages.Text(self.columns[at].shown(row[at], wide), style=style)
                for at, wide in zip(kept, widths, strict=True)
            ]
            table.add_row(*cells)
        return table

    def _widths(self, kept: Sequence[int], width: int) -> list[int]:
        """Return the widths of columns: what they need, and what is left for those that fold."""
        texts = [self._texts(at) for at in kept]
        columns = [self.columns[at] for at in kept]
        widths = [one.least(cells) for one, cells in zip(columns, texts, strict=True)]
        most = [one.most(cells) for one, cells in zip(columns, texts, strict=True)]
        spare = width - self._edges(len(kept)) - sum(widths)
        while spare > 0 and any(one < most[at] for at, one in enumerate(widths)):
            narrow = [at for at, one in enumerate(widths) if one < most[at]]
            share = max(spare // len(narrow), 1)
            for at in narrow:
                more = min(share, most[at] - widths[at], spare)
                widths[at] += more
                spare -= more
        return widths

    def _blocks(self, width: int) -> Iterator[RenderableType]:
        """Return each row as lines of its own: the first one, and what belongs to it."""
        for number, row in enumerate(self.rows):
            indent = ""
            for column, cell in zip(self.columns, row, strict=True):
                if cell.strip():
                    shown = column.shown(cell, max(width - 2 * len(_INDENT), _LEAST_NAME))
                    words = " ".join(f"{column.title} {shown}".split())
                    yield _wrapped(words, width, indent)
                    indent = _INDENT
            if number + 1 < len(self.rows):
                yield _wrapped("", width)


def _cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return _packages.cell_len(text)


def shortened(word: str, width: int) -> str:
    """Return a path or a name without its middle, if it is too long: its ends tell the most."""
    if _cells(word) <= width:
        return word
    room = max(width - len(_GAP), 2)
    front, back = "", ""
    for one in word:
        if _cells(front + one) > room // 3:
            break
        front += one
    for one in reversed(word):
        if _cells(front + one + back) > room:
            break
        back = one + back
    return f"{front}{_GAP}{back}"


def fitting(parts: Sequence[str], room: int, gap: str = "  ") -> str:
    """Return as many parts of a line as there is room for, each of them whole."""
    line = ""
    for part in parts:
        longer = f"{line}{gap}{part}" if line else part
        if _cells(longer) > room:
            break
        line = longer
    return line


def folded(words: str, width: int, indent: str = "", rest: str = "") -> list[str]:
    """Return lines that fold at spaces alone, so wide as a terminal counts.

    A word that is too long is left to the terminal. ``indent`` is that of the first line, ``rest``
    that of the others.
    """
    # Some letters take two columns: what fills the second one is taken out again.
    filled = "".join(f"{one}{_SECOND}" if _cells(one) > 1 else one for one in words)
    lines = textwrap.wrap(
        filled if len(filled) > len(words) else words,
        max(width, 1),
        initial_indent=indent,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [one.replace(_SECOND, "") for one in lines] if len(filled) > len(words) else lines


def _wrapped(words: str, width: int, indent: str = "", style: str = "") -> _packages.Text:
    """Return text that folds at spaces alone; a word that is too long is left to the terminal."""
    lines = folded(words, width, indent, indent + _INDENT)
    return _packages.Text("\n".join(lines), style=style, overflow="ignore", no_wrap=True)


def _longest_word(text: str) -> int:
    return max(map(_cells, text.split()), default=0)


def _longest_line(text: str) -> int:
    return max((_cells(line.rstrip()) for line in text.split("\n")), default=0)
