"""The report as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fathom import _fathom, _packages
from fathom._finite import finite
from fathom._text import plain
from fathom.report import style
from fathom.report.figures import figures_of
from fathom.report.render._bundle import javascript
from fathom.report.render.write import MADE_BY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.report.figure import Figure
    from fathom.report.material import Material

__all__ = [
    "changes",
    "drawing_script",
    "figure_data",
    "html_page",
    "isolated",
    "page_content",
    "page_file",
]

# Rows of a table beyond these are only in the store and in exports.
_MOST_ROWS = 3000
_POLICY_PLACE = "@policy@"
# Hebrew, Arabic and other scripts that are written from right to left.
_LETTER = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RIGHT_TO_LEFT = re.compile(rf"{_LETTER}+(?:[ ._-]{_LETTER}+)*")
_SCRIPT = re.compile("<script>(.*?)</script>", re.DOTALL)


def html_page(material: Material) -> str:
    """Return the page: style, pictures, numbers and all that draws them in one text."""
    environment = _packages.jinja2.Environment(
        loader=_packages.jinja2.PackageLoader("fathom.report", "page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=_packages.jinja2.StrictUndefined,
        finalize=_shown,
    )
    environment.filters["isolated"] = isolated
    content = page_content(material)
    page = environment.get_template("page.html")
    text = page.render(
        **content,
        policy=_POLICY_PLACE,
        themes=style.THEMES,
        css=_safe("page.css"),
        script=_safe("page.js"),
        columns=_safe("columns.js"),
        bundle=_Markup(javascript()) if content["figures"] else "",
    )
    # The first one is ours: it stands before everything that others have named.
    return text.replace(_POLICY_PLACE, _policy(text), 1)


def _shown(value: object) -> object:
    """Return what stands in the page: of a text of others, what would be commands is spelt."""
    return plain(value) if type(value) is str else value


def isolated(text: object) -> object:
    """Return a text in which words from right to left leave what stands beside them in its place.

    A number behind such a name would be drawn before it, within its path (Unicode, UAX #9, N1).
    """
    if type(text) is not str or not _RIGHT_TO_LEFT.search(text):
        return text
    return _Markup(_RIGHT_TO_LEFT.sub(r"<bdi>\g<0></bdi>", html.escape(plain(text))))


def page_content(material: Material) -> dict[str, object]:
    """Return what ``content.html`` is drawn from, within this page or within another."""
    figures, left_out = figures_of(material)
    return {
        "material": material,
        "figures": figures,
        "left_out": left_out,
        "made_by": MADE_BY,
        "version": _fathom.version(),
        "most_rows": _MOST_ROWS,
        "data": figure_data(figures),
    }


def figure_data(figures: Sequence[Figure]) -> str:
    """Return what ``page.js`` draws figures from: JSON that may stand in a script of data."""
    return _Markup(_as_script({one.name: _views(one) for one in figures}))


def page_file(name: str) -> str:
    """Return a file of the page, such as its style sheet."""
    return _safe(name)


def drawing_script() -> str:
    """Return the script that draws figures, Vega-Lite with all that it needs, for ``page.js``."""
    return javascript()


def _policy(page: str) -> str:
    """Return what a browser may do with the page: run and apply what we have put there, no more.

    Whatever of others slipped into it would neither run nor load anything
    (https://www.w3.org/TR/CSP3/).
    """
    scripts = " ".join(map(_hash, _SCRIPT.findall(page))) or "'none'"
    styles = _hash(page.split("<style>", 1)[1].split("</style>", 1)[0])
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.replace("\r\n", "\n").encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


class _Markup(str):
    """Text of our own that is put into the page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def _safe(name: str) -> _Markup:
    return _Markup(files("fathom.report").joinpath("page", name).read_text(encoding="utf-8"))


def _views(figure: Figure) -> list[dict[str, Any]]:
    """Return the views of a figure: the first one whole, of the others what differs from it.

    What all specifications share is sent once for all figures.
    """
    shared = ("$schema", "config")
    specs = [
        {key: value for key, value in view.spec.items() if key not in shared}
        for view in figure.views
    ]
    choices = [dict(view.choice) for view in figure.views]
    first: dict[str, Any] = {"choice": choices[0], "spec": specs[0]}
    return [
        first,
        *(
            {"choice": choice, "changes": [*changes(specs[0], spec)]}
            for choice, spec in zip(choices[1:], specs[1:], strict=True)
        ),
    ]


def changes(one: object, other: object, place: tuple[str | int, ...] = ()) -> Iterator[list[Any]]:
    """Return what makes the other JSON of the one: the place of each part, and what stands there.

    Lists of unequal length and objects with other keys are replaced as a whole, and so is data.
    """
    if one == other:
        return
    for key, pair in _pairs(one, other, place):
        yield from changes(*pair, place=(*place, key))
    if not _pairs(one, other, place):
        yield [[*place], other]


def _pairs(
    one: object, other: object, place: tuple[str | int, ...]
) -> list[tuple[str | int, tuple[object, object]]]:
    """Return the parts of both by their keys; none if the whole is to be replaced."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [(key, (part, other[key])) for key, part in one.items()]
    if "values" in place or not isinstance(one, list) or not isinstance(other, list):
        return []
    pairs = zip(one, other, strict=False)
    return list(enumerate(pairs)) if len(one) == len(other) else []


def _as_script(views: dict[str, list[dict[str, Any]]]) -> str:
    """Return JSON that cannot end the script in which it stands."""
    content = {
        "$schema": style.SCHEMA,
        "config": style.CONFIG,
        "reserved": style.RESERVED,
        "figures": views,
    }
    text = json.dumps(finite(content), separators=(",", ":"), ensure_ascii=False)
    for one, escaped in (("<", "\\u003c"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")):
        text = text.replace(one, escaped)
    return text
