"""Figures as pictures of their own: SVG, PNG and PDF, drawn without a browser."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Literal

from fathom import _packages
from fathom._extras import install_line, missing_of
from fathom.report import style
from fathom.report.collect.gather import ReportError
from fathom.report.render.write import MADE_BY, marked_png

if TYPE_CHECKING:
    from fathom.report.figure import View

__all__ = ["WIDTH", "ImageFormat", "Theme", "picture", "require_pictures"]

ImageFormat = Literal["png", "svg", "pdf"]
Theme = Literal["light", "dark"]
WIDTH = 760
_PNG_SCALE = 2


def require_pictures() -> None:
    """See that what draws pictures is installed.

    Raises
    ------
    ReportError
        If it is not, with the line that installs it.

    """
    if missing := missing_of("pictures"):
        line = install_line("pictures")
        raise ReportError(f"PDF, PNG and SVG need {' and '.join(missing)}: {line}")


def picture(
    view: View,
    form: ImageFormat,
    *,
    theme: Theme = "light",
    width: int = WIDTH,
    comment: str = "",
) -> bytes:
    """Return a view of a figure as a file of this form.

    ``width`` is in pixels, of which PNG has two for each, so that it is sharp on paper. ``comment``
    is kept within SVG and PNG.
    """
    require_pictures()

    spec = style.drawn(view.spec, theme, width)
    if form == "png":
        return marked_png(_packages.vl_convert.vegalite_to_png(spec, scale=_PNG_SCALE), comment)
    if form == "pdf":
        return _packages.vl_convert.vegalite_to_pdf(spec)
    # Two hyphens would end the comment.
    words = html.escape(f"{MADE_BY}: {comment}").replace("--", "- -")
    return f"{_packages.vl_convert.vegalite_to_svg(spec)}\n<!-- {words} -->\n".encode()
