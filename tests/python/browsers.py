"""A real browser for tests: Debian's Chromium."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

__all__ = ["needs_chromium", "started_browser"]

_CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(_CHROMIUM is None, reason="Debian's chromium is not installed")
# Nobody looks at it: without these, the CPUs do the work of a graphics card, too.
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer"]


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Start a browser, and end it."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=_CHROMIUM, args=_ARGUMENTS)
        yield found
        found.close()
