"""What readers do with the built site in a browser: search it, and copy its commands."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from browsers import needs_chromium, started_browser
from test_docs_site import _DOCS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

pytestmark = needs_chromium
PAGES = ["index", "glossary", "tasks/caches"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build three pages, by the site's own settings; others' links to them do not matter here."""
    source = tmp_path_factory.mktemp("source")
    for page in PAGES:
        (source / page).parent.mkdir(exist_ok=True)
        shutil.copy(_DOCS / f"{page}.md", source / f"{page}.md")
    shutil.copytree(_DOCS / "pictures", source / "pictures")
    (source / "index.md").write_text("# Pages\n\n```{toctree}\nglossary\ntasks/caches\n```\n")
    build = [sys.executable, "-m", "sphinx", "-Q", "-c", str(_DOCS), str(source)]
    subprocess.run([*build, str(source / "site")], check=True)
    return source / "site"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with started_browser() as browser:
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
        yield context.new_page()


def test_the_search_finds_a_page_by_a_word_of_it(site: Path, page: Page) -> None:
    page.goto((site / "index.html").as_uri())
    page.get_by_placeholder("Search").first.fill("coordinated omission")
    page.keyboard.press("Enter")
    found = page.locator("#search-results li a").first
    found.wait_for()
    assert found.inner_text() == "Glossary"
    found.click()
    assert page.url.split("?")[0].endswith("glossary.html")


def test_a_copied_block_is_its_commands_without_prompts_and_output(site: Path, page: Page) -> None:
    page.goto((site / "tasks/caches.html").as_uri())
    block = page.locator("div.highlight", has_text="$ fathom run").first
    block.hover()
    block.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    shown = [
        line.removeprefix("$ ")
        for line in block.locator("pre").inner_text().splitlines()
        if line.startswith("$ ")
    ]
    assert copied == shown
    assert len(copied) >= 3
