"""Reports: what experiments, runs and files of results show, as a page, paper or pictures.

>>> from fathom.report import gather, html_page
>>> from fathom.store import Store
>>> with Store() as store:  # doctest: +SKIP
...     page = html_page(gather(store, ["e3"]))
"""

from fathom.report._figure import Column, Figure, LeftOut, Table, View
from fathom.report._gather import ReportError, gather
from fathom.report._images import ImageFormat, Theme, picture
from fathom.report._markdown import markdown
from fathom.report._material import Material
from fathom.report._page import html_page
from fathom.report._pdf import pdf_pages
from fathom.report._style import drawn
from fathom.report._write import write
from fathom.report.figures import figures_of

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
    "drawn",
    "figures_of",
    "gather",
    "html_page",
    "markdown",
    "pdf_pages",
    "picture",
    "write",
]
