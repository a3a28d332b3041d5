"""The documentation site builds without a warning, and holds what it shall."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import fathom
import pytest
from fathom.cli.verbs import VERBS

_DOCS = Path(__file__).parents[2] / "docs"


def _build(source: Path, to: Path) -> subprocess.CompletedProcess[str]:
    """Build a site, with a proxy that nobody answers in place of the network."""
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    return subprocess.run(
        [*build, "-c", _DOCS, source, to],
        capture_output=True,
        text=True,
        env={**os.environ, "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"},
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = _build(_DOCS, folder)
    assert done.returncode == 0, done.stderr
    return folder


class _Links(HTMLParser):
    """Collects what a page can be linked to by, where it leads, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        self.anchors.add(of.get("id", ""))
        if tag == "a":
            self.links.add(of.get("href", ""))
        if tag in {"script", "img", "link"}:
            self.loaded.add(of.get("src") or of.get("href", ""))


def test_every_link_and_anchor_within_the_site_exists(site: Path) -> None:
    pages = {page: _Links(page) for page in site.rglob("*.html")}
    broken = []
    checked = 0
    for page, of in pages.items():
        for link in of.links:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link) or not link:
                continue
            checked += 1
            target = (page.parent / path).resolve() if path else page
            found = target.exists() and (
                not anchor or target not in pages or anchor in pages[target].anchors
            )
            broken += [] if found else [f"{page.name}: {link}"]
    assert not broken
    assert checked > 1000


def test_the_site_loads_nothing_from_the_network(site: Path) -> None:
    loaded = {each for page in site.rglob("*.html") for each in _Links(page).loaded}
    assert loaded
    assert not [each for each in loaded if re.match(r"(https?:)?//", each)]


def test_every_verb_and_its_options_stand_in_the_reference(site: Path) -> None:
    page = (site / "fathom-reference.html").read_text()
    anchors = _Links(site / "fathom-reference.html").anchors
    for verb in VERBS:
        assert f"fathom-{verb}" in anchors
    for option in ("--precision", "--dry-run", "--fail-if", "--pilot"):
        assert option in page


def test_every_name_of_the_python_api_is_described(site: Path) -> None:
    anchors = _Links(site / "python.html").anchors
    missing = {name for name in fathom.__all__ if f"fathom.{name}" not in anchors}
    # The type of a callback, which the page has a sentence for, and the version, a string.
    assert missing <= {"EventCallback", "__version__"}


def test_links_that_lead_nowhere_fail_the_build(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    # A page for each, so that none hides another.
    leads_nowhere = {
        "page": ("[nowhere](nowhere.md)", "myst.xref_missing"),
        "heading": ("[a heading](#no-such-heading)", "myst.xref_missing"),
        "name": ("```{eval-rst}\n:py:class:`fathom.NoSuchClass`\n```", "fathom.NoSuchClass"),
    }
    for name, (text, _) in leads_nowhere.items():
        (source / f"{name}.md").write_text(f"# A page\n\n{text}\n")
    pages = "\n".join(leads_nowhere)
    (source / "index.md").write_text(f"# Pages\n\n```{{toctree}}\n{pages}\n```\n")
    done = _build(source, tmp_path / "site")
    assert done.returncode != 0
    for name, (_, warning) in leads_nowhere.items():
        assert re.search(rf"/{name}\.md:.*WARNING.*{re.escape(warning)}", done.stderr), name
    # And nothing else fails it.
    assert done.stderr.count("WARNING") == len(leads_nowhere)
