"""Reports: what experiments, runs and files of results show, as a page, paper or pictures.

>>> from fathom.report import gather, html_page
>>> from fathom.store import Store
>>> with Store() as store:
...     page = html_page(gather(store, ["e1"]))
>>> page[:15]
'<!DOCTYPE html>'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.report.collect.events import with_events
    from fathom.report.collect.gather import ReportError, gather
    from fathom.report.figure import Column, Figure, LeftOut, Table, View
    from fathom.report.figures import figures_of
    from fathom.report.material import Material
    from fathom.report.render.images import ImageFormat, Theme, picture
    from fathom.report.render.markdown import markdown
    from fathom.report.render.page import (
        drawing_script,
        figure_data,
        html_page,
        isolated,
        page_content,
        page_file,
    )
    from fathom.report.render.pdf import pdf_pages
    from fathom.report.render.write import check_place, write
    from fathom.report.style import drawn

__all__ = [
    "Column",
    "Figure",
    "ImageFormat",
    "LeftOut",
    "Material",
    "ReportError",
    "Table",
    "Theme",
    "View",
    "check_place",
    "drawing_script",
    "drawn",
    "figure_data",
    "figures_of",
    "gather",
    "html_page",
    "isolated",
    "markdown",
    "page_content",
    "page_file",
    "pdf_pages",
    "picture",
    "with_events",
    "write",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
