"""The report as paper: the same words, the figures as pictures, and the shorter tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fathom import _fathom, _packages
from fathom._text import plain
from fathom.report.figures import figures_of
from fathom.report.render.images import picture, require_pictures
from fathom.report.render.write import MADE_BY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.figure import Figure, Table
    from fathom.report.material import Material, Side

__all__ = ["pdf_pages"]

_MARGIN_MM = 18
_BODY, _SMALL, _TITLE, _HEADING, _SUBHEADING = 10.0, 8.0, 20.0, 14.0, 11.0
# Wider or longer tables are in the other forms.
_MOST_ROWS, _MOST_COLUMNS = 24, 10
_MOST_COMMANDS = 60
# More targets side by side leave no room for their numbers.
_MOST_TARGETS = 5
# Room for one letter and the margins, whatever else a column has.
_CELL_MM = 6.0
# Our own signs that those fonts have not.
_SIGNS = str.maketrans({"\N{ALMOST EQUAL TO}": "~"})
_PIXELS = 760


def pdf_pages(material: Material) -> bytes:
    """Return the report as PDF, in A4."""
    require_pictures()
    figures, left_out = figures_of(material)
    paper = _Paper(material)
    paper.compared(material)
    for side in material.sides:
        paper.side(side, several=len(material.sides) > 1)
    for figure in figures:
        paper.figure(figure)
    if left_out:
        paper.heading("Figures without numbers")
        for one in left_out:
            paper.line(f"{one.title}: {one.why}")
    paper.again(material)
    return paper.content()


class _Paper:
    """Pages that are filled from top to bottom."""

    def __init__(self, material: Material) -> None:
        self._pdf: _packages.FPDF = _packages.FPDF(format="A4")
        self._pdf.set_margin(_MARGIN_MM)
        self._pdf.set_auto_page_break(auto=True, margin=_MARGIN_MM)
        self._pdf.set_title(_plain(material.title))
        self._pdf.set_creator(f"{MADE_BY} {_fathom.version()}")
        self._pdf.add_page()
        self._text(material.title, _TITLE, bold=True)
        self._text(material.happened, _SMALL)

    def content(self) -> bytes:
        """Return the file, with our mark where it is looked for."""
        return bytes(self._pdf.output()) + f"\n% {MADE_BY}\n".encode()

    def heading(self, words: str) -> None:
        """Begin a section, with room for what follows."""
        if self._pdf.will_page_break(30):
            self._pdf.add_page()
        self._pdf.ln(4)
        self._text(words, _HEADING, bold=True)

    def subheading(self, words: str) -> None:
        """Begin a part of a section, with room for two lines of what follows."""
        if self._pdf.will_page_break(16):
            self._pdf.add_page()
        self._text(words, _SUBHEADING, bold=True)

    def line(self, words: str) -> None:
        """Write a paragraph."""
        self._text(words, _BODY)

    def compared(self, material: Material) -> None:
        """Write the targets of one assessment side by side."""
        if material.told:
            self.heading("Comparison")
            self._text(material.told[0], _HEADING)
            for sentence in material.told[1:]:
                self.line(f"- {sentence}")
        found = material.compared
        if found is None:
            return
        self.heading("Comparison")
        self._text(found.headline, _HEADING)
        self._pdf.ln(2)
        for first in range(0, len(found.names), _MOST_TARGETS):
            names, part = found.names[first:][:_MOST_TARGETS], slice(1 + first, None)
            rows = [(row[0], *row[part][:_MOST_TARGETS]) for row in found.marked()]
            self._rows([("Number", *names)], rows)
        self._text(f"*: {found.legend}" if found.legend else "", _SMALL)
        for sentence in (*found.sentences, *found.notes):
            self.line(f"- {sentence}")

    def side(self, side: Side, *, several: bool) -> None:
        """Write what stands on the first screen."""
        if several:
            self.heading(side.name)
        if side.verdict:
            self._pdf.ln(2)
            self._text(side.verdict.headline, _HEADING)
        for note in side.notes:
            self.line(note)
        self._pdf.ln(2)
        self._rows([("", "")], [(one.title, one.text) for one in side.numbers])
        self._findings(side)
        self._failed(side)
        for sentence in side.verdict.sentences if side.verdict else ():
            self.line(f"- {sentence}")
        if side.device:
            self.subheading("What was measured")
            self._rows([("", "")], side.device)

    def _findings(self, side: Side) -> None:
        self._pdf.ln(2)
        self.subheading("Findings")
        if not side.advice:
            self.line(side.without_advice)
        for one in side.advice:
            self._text(f"{one.title} ({one.confidence})", _BODY, bold=True)
            self.line(f"{one.evidence} {one.where}".strip())
            self.line(f"What to do: {one.remedy}")
            self._pdf.ln(1)

    def _failed(self, side: Side) -> None:
        if side.failed:
            self.subheading("Failed measurements")
        for name, why in side.failed:
            self.line(f"- {name}: {why}")

    def figure(self, figure: Figure) -> None:
        """Draw the first view of a figure, with its caption and its table if that is short."""
        view = figure.views[0]
        image = picture(view, "png", width=_PIXELS)
        width_mm = self._pdf.epw
        height_mm = width_mm * _aspect(image)
        most_mm = self._pdf.eph - 40
        if height_mm > most_mm:
            width_mm, height_mm = width_mm * most_mm / height_mm, most_mm
        self._pdf.ln(4)
        if self._pdf.will_page_break(height_mm + 30):
            self._pdf.add_page()
        self._text(figure.title, _HEADING, bold=True)
        if view.label:
            self._text(view.label, _SMALL)
        self._pdf.image(io.BytesIO(image), w=width_mm, h=height_mm, alt_text=_plain(figure.title))
        self._text(figure.caption, _SMALL)
        self._table(figure.table)

    def _table(self, table: Table) -> None:
        texts = table.texts()
        titles = tuple(column.title for column in table.columns)
        is_long = len(table.columns) > _MOST_COLUMNS or len(texts) > _MOST_ROWS
        if is_long or self._widths([titles, *texts]) is None:
            self._text("The table of this figure is in the HTML report.", _SMALL)
            return
        self._rows([titles], texts)

    def _widths(self, rows: Sequence[Sequence[str]]) -> tuple[float, ...] | None:
        """Return how wide the columns of a table are, so that no number of them is cut.

        None if the paper has no room for that.
        """
        self._pdf.set_font("helvetica", size=_SMALL)

        def needed(cell: str) -> float:
            numbers = [
                one for one in _plain(cell).split() if one[:1].isdigit() or one[1:2].isdigit()
            ]
            return max(map(self._pdf.get_string_width, numbers), default=0.0) + _CELL_MM

        columns = [*zip(*rows, strict=True)]
        least = [max(map(needed, cells)) for cells in columns]
        even = self._pdf.epw / len(columns)
        if sum(least) > self._pdf.epw:
            return None
        # What is wider than an even share takes it from the others, each as it has room.
        over = sum(max(one - even, 0) for one in least)
        room = sum(max(even - one, 0) for one in least)
        share = over / room if room else 0.0
        return tuple(one if one > even else even - share * (even - one) for one in least)

    def _rows(self, titles: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> None:
        if not rows:
            return
        self._pdf.set_font("helvetica", size=_SMALL)
        is_plain = not any(titles[0])
        with self._pdf.table(
            borders_layout="HORIZONTAL_LINES",
            first_row_as_headings=not is_plain,
            text_align="LEFT",
            line_height=4.5,
            col_widths=self._widths([*([] if is_plain else titles), *rows]),
        ) as table:
            for row in [*([] if is_plain else titles), *rows]:
                table.row([_plain(cell) for cell in row])
        self._pdf.ln(3)

    def again(self, material: Material) -> None:
        """Write what repeats it."""
        self.heading("To repeat it")
        self.line(f"Fathom {_fathom.version()}: {material.command}")
        commands = [one for side in material.sides for one in side.commands]
        for one in commands[:_MOST_COMMANDS]:
            self._text(one, _SMALL, family="courier")
        if len(commands) > _MOST_COMMANDS:
            self.line(f"{len(commands) - _MOST_COMMANDS} more are in the HTML report.")

    def _text(
        self, words: str, size: float, *, bold: bool = False, family: str = "helvetica"
    ) -> None:
        if not words:
            return
        self._pdf.set_font(family, style="B" if bold else "", size=size)
        self._pdf.multi_cell(
            0, size * 0.5, _plain(words), align="LEFT", new_x="LMARGIN", new_y="NEXT"
        )


def _plain(text: str) -> str:
    """Return what the fonts that every reader of PDF has can show; the rest is spelt.

    Names that are all of other letters would be the same question marks.
    """
    return plain(text).translate(_SIGNS).encode("latin-1", "backslashreplace").decode("latin-1")


def _aspect(png: bytes) -> float:
    """Return height by width, from the header of a PNG image."""
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    return height / width
