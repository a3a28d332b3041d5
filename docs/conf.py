"""The documentation site: `make docs` builds it into target/site, without any network.

Every warning is an error: a link to a page, a heading or a name of the Python API that does not
exist, and a page that no other leads to.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils.nodes import Element, document, reference
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import fathom  # noqa: E402 - Below the path for scripts, which stand beside it.
from document_verbs import PLACE, reference_of_verbs  # noqa: E402
from docutils.nodes import literal  # noqa: E402 - The same.

project = "Fathom"
author = "The maintainers of Fathom"
release = fathom.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["pictures/**"]
nitpicky = True
# Types of other projects: their pages would have to be fetched to link to them.
# The parts of a request are described by schema/request.schema.json.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!fathom\b).*"),
    (r"py:.*", r"fathom\._request_parts\..*"),
]
show_warning_types = True
# Two hyphens of an option stay two: what is copied from a page has to work.
smartquotes = False
# A command without a prompt is no Python, in which "import" and "if" would be coloured.
highlight_language = "none"

# Of a block with prompts, its commands are copied; of one without, all of it. A line that ends in a
# backslash goes on in the next.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

# Headings down to this depth can be linked to, and such links are checked.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_typehints = "description"
# A default stands as it is written, not as all that it holds.
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Fathom"
html_static_path = ["_static"]
html_css_files = ["fathom.css"]
html_copy_source = False
html_show_sphinx = False
# The licence stands at the top of the tree.
html_show_copyright = False


def _fill_in_verbs(_app: Sphinx, _page: str, source: list[str]) -> None:
    if PLACE in source[0]:
        source[0] = source[0].replace(PLACE, reference_of_verbs())


def _load_rooms(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Load what the shown rooms import only when it is used: Sphinx asks for what is there."""
    # What stands in the store's rooms is shown where it is used; several of it have `runs`.
    for room in {*re.findall(r"automodule:: ([\w.]+)", source[0])} - {"fathom.store"}:
        module = import_module(room)
        for name in getattr(module, "__all__", ()):
            getattr(module, name)


def _public_name(
    app: Sphinx, env: BuildEnvironment, node: Element, content: Element
) -> reference | None:
    """Find what a signature calls by the private module that holds it."""
    target = str(node.get("reftarget", ""))
    if "._" not in target or node.get("refdomain") != "py":
        return None
    name = ".".join(part for part in target.split(".") if not part.startswith("_"))
    python = env.get_domain("py")
    return python.resolve_xref(  # type: ignore[return-value]
        env, node["refdoc"], app.builder, "obj", name, node, content
    )


# An option or a name of so many characters is not torn apart, even in the narrowest column.
WHOLE = 24


def _keep_options_whole(_app: Sphinx, page: document, _name: str) -> None:
    for found in page.findall(literal):
        if max(map(len, found.astext().split()), default=0) <= WHOLE:
            found["classes"].append("whole")


def setup(app: Sphinx) -> None:
    """Register what fills in the generated page, and what resolves names."""
    app.connect("source-read", _fill_in_verbs)
    app.connect("source-read", _load_rooms)
    app.connect("missing-reference", _public_name)
    app.connect("doctree-resolved", _keep_options_whole)
