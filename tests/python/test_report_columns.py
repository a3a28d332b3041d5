"""Wide tables of a report are read to their ends, by key and by wheel."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from browsers import needs_chromium, started_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
_PLACE = "document.querySelector('.scroll')"
# Longer than what a page waits for behind the last of a scroll.
_SETTLED_MS = 400


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as found:
        yield found


def page_of(browser: Browser, titles: list[str], width: int) -> Page:
    """Open a page that has only a table."""
    folder = files("fathom.report") / "page"
    css, script = ((folder / one).read_text() for one in ("page.css", "columns.js"))
    cells = "".join(f"<th scope='col'>{title}</th>" for title in titles)
    table = f"<table><thead><tr>{cells}</tr></thead></table>"
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.set_content(
        f"<!doctype html><style>{css}</style><main><section><div class='scroll' tabindex='0'>"
        f"{table}</div></section></main><script>{script}</script>"
    )
    page.wait_for_timeout(_SETTLED_MS)
    return page


def scrolled(page: Page, left: int) -> list[int]:
    """Scroll the table, and return where it is then, its width and the number of columns beside."""
    page.evaluate(f"{_PLACE}.scrollLeft = {left}")
    page.wait_for_timeout(_SETTLED_MS)
    beside = "document.querySelector('.beside').textContent.split(' ')[0]"
    found: list[int] = page.evaluate(f"[{_PLACE}.scrollLeft, {_PLACE}.clientWidth, +{beside}]")
    return found


def test_a_table_went_back_to_its_start_after_each_press_of_a_key(browser: Browser) -> None:
    page = page_of(browser, [f"A column of some words {number}" for number in range(12)], 1000)
    page.focus(".scroll")
    places = [0]
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_timeout(_SETTLED_MS)
        places.append(page.evaluate(f"{_PLACE}.scrollLeft"))
    assert places[0] < places[1] < places[2]
    assert places[3] == places[1]
    page.close()


@pytest.mark.parametrize("width", [320, 1000])
def test_a_column_that_is_wider_than_the_window_was_not_read_beyond_its_first_words(
    browser: Browser, width: int
) -> None:
    """The place of the table became two pixels wide, or went back to the start of the column."""
    page = page_of(browser, ["first", f"/dev/{'x' * 400}", "last"], width)
    column = page.evaluate(
        "[...document.querySelectorAll('th')].map((one) => one.getBoundingClientRect().width)"
    )
    room = page.evaluate(f"{_PLACE}.parentElement.clientWidth")
    seen = round(column[0])
    while seen < sum(column[:2]) - 1:
        left, view, beside = scrolled(page, seen - 20)
        assert left <= seen < left + view
        assert (room - 2 <= view <= room, beside) == (True, 2)
        seen = round(left + view)
    left, view, beside = scrolled(page, 100_000)
    assert (left, beside) == (round(sum(column[:2])), 2)
    page.close()
