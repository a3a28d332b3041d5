"""The report as one page that needs nothing else."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fathom import _fathom
from fathom.report import _style as style
from fathom.report._bundle import javascript
from fathom.report._write import MADE_BY
from fathom.report.figures import figures_of

if TYPE_CHECKING:
    from fathom.report._figure import Figure
    from fathom.report._material import Material

__all__ = ["html_page"]

# Rows of a table beyond these are only in the store and in exports.
_MOST_ROWS = 3000


def html_page(material: Material) -> str:
    """Return the page: style, pictures, numbers and all that draws them in one text."""
    import jinja2  # noqa: PLC0415 - Slow to import.

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fathom.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    figures, left_out = figures_of(material)
    page = environment.get_template("page.html")
    return page.render(
        material=material,
        figures=figures,
        left_out=left_out,
        made_by=MADE_BY,
        version=_fathom.version(),
        most_rows=_MOST_ROWS,
        themes=style.THEMES,
        css=_safe("page.css"),
        script=_safe("page.js"),
        bundle=_Markup(javascript()) if figures else "",
        data=_Markup(_as_script({one.name: _views(one) for one in figures})),
        reserved=style.RESERVED,
    )


class _Markup(str):
    """Text of our own that is put into the page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def _safe(name: str) -> _Markup:
    return _Markup(files("fathom.report").joinpath("page", name).read_text(encoding="utf-8"))


def _views(figure: Figure) -> list[dict[str, Any]]:
    """Return the views of a figure; what all their specifications share is sent once."""
    shared = ("$schema", "config")
    return [
        {
            "choice": dict(view.choice),
            "spec": {key: value for key, value in view.spec.items() if key not in shared},
        }
        for view in figure.views
    ]


def _as_script(views: dict[str, list[dict[str, Any]]]) -> str:
    """Return JSON that cannot end the script in which it stands."""
    content = {"$schema": style.SCHEMA, "config": style.CONFIG, "figures": views}
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    for one, escaped in (("<", "\\u003c"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        text = text.replace(one, escaped)
    return text
