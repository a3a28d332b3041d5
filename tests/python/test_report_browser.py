"""The page in a real browser: every control shows the numbers of the store, at any width."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from browsers import needs_chromium, started_browser
from fathom.report import figures_of, gather, html_page
from fathom.store import Store
from reported import (
    EVIL,
    saved_assessment,
    saved_comparison,
    saved_preparations,
    saved_repetition,
    saved_sweep,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
DESKTOP, PHONE = 1200, 390
KINDS = ["assess", "sweep", "repeat", "compare", "tools", "turns", "prepare"]
GRID = {"block": "4K,16K,64K", "threads": "1,4", "depth": "1..8"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Return the material of each kind of experiment, and its page as a file."""
    folder = tmp_path_factory.mktemp("pages")
    with Store(folder / "store.sqlite") as store:
        references = {
            "assess": [f"e{saved_assessment(store, name=f'/mnt/{EVIL}', evil=EVIL)}"],
            "sweep": [f"e{saved_sweep(store, GRID)}"],
            "repeat": [
                f"e{saved_repetition(store, [9_000.0, 9_200.0, 9_100.0, 9_000.0, 9_300.0])}"
            ],
        }
        references["compare"] = [
            *references["repeat"],
            f"e{saved_repetition(store, [12_000.0, 12_100.0, 11_900.0])}",
        ]
        references["tools"] = [
            *references["sweep"],
            f"e{saved_sweep(store, GRID, seed=6, runner='fio', tool_version='fio 3.33')}",
        ]
        references["turns"] = [f"e{saved_comparison(store)}"]
        references["prepare"] = [f"e{one}" for one in saved_preparations(store, folder)]
        found = {}
        for name, wanted in references.items():
            material = gather(store, wanted)
            place = folder / f"{name}.html"
            place.write_text(html_page(material), encoding="utf-8")
            found[name] = (material, place)
        yield found


def opened(browser: Browser, place: Path, width: int = DESKTOP) -> Page:
    """Open a page without any network, and fail on whatever it complains about."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
    page.context.set_offline(True)
    complaints: list[str] = []
    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda one: complaints.append(str(one)))
    page.goto(place.as_uri())
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    assert complaints == []
    assert page.query_selector_all(".problem") == []
    return page


@pytest.fixture(scope="module")
def untouched(browser: Browser, pages: dict[str, Any]) -> Iterator[Callable[[str], Page]]:
    """Return what opens the page of a kind, once for all tests that leave it as it was."""

    @cache
    def page(kind: str) -> Page:
        return opened(browser, pages[kind][1])

    yield page
    for context in browser.contexts:
        context.close()


def shown_texts(page: Page, figure: str) -> list[str]:
    """Return the words that are drawn in a figure."""
    every = "all => all.map(one => one.textContent)"
    found: list[str] = page.eval_on_selector_all(f"#{figure} svg text", every)
    return found


# What the controls of a figure say, which of them are lists, and how often it was drawn.
_CHOSEN = """figure => {
  const form = document.querySelector(`#${figure} form`);
  return [form ? Object.fromEntries(new FormData(form)) : {},
    form ? [...form.querySelectorAll("select")].map((one) => one.name) : [],
    +(document.querySelector(`#${figure} .plot`).dataset.drawn || 0)];
}"""


def choose(page: Page, figure: str, wanted: Mapping[str, str]) -> None:
    """Use controls as a person does, and wait after each until the figure is drawn again."""
    chosen, lists, drawn = page.evaluate(_CHOSEN, figure)
    assert {*wanted} <= {*chosen}
    for name, value in wanted.items():
        if chosen[name] == value:
            continue
        if name in lists:
            page.locator(f'#{figure} select[name="{name}"]').select_option(value)
        else:
            page.locator(f'#{figure} input[name="{name}"][value="{value}"]').check()
        drawn += 1
        page.wait_for_function(
            "([name, drawn]) => +document.querySelector(`#${name} .plot`).dataset.drawn >= drawn",
            arg=[figure, drawn],
        )


def view_data(page: Page, figure: str) -> list[dict[str, Any]]:
    """Return the rows that the drawn figure is made of, as Vega holds them."""
    found = page.evaluate(
        "name => { const view = document.querySelector(`#${name} .plot`).made.spec;"
        " return JSON.stringify(view); }",
        figure,
    )
    spec: dict[str, Any] = json.loads(found)
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_the_first_screen_has_verdict_five_numbers_findings_and_the_device(
    untouched: Callable[[str], Page], pages: dict[str, Any]
) -> None:
    material, _place = pages["assess"]
    page = untouched("assess")
    (side,) = material.sides
    assert page.inner_text(".verdict") == side.verdict.headline
    assert page.locator(".numbers dd").all_inner_texts() == [one.text for one in side.numbers]
    assert "Use larger blocks." in page.inner_text(".finding")
    assert "Kernel" in page.inner_text(".facts")
    # All of it lies within what is seen first, but for the end of long lists.
    for selector in (".verdict", ".numbers", ".finding", ".facts"):
        box = page.locator(selector).first.bounding_box()
        assert box is not None
        assert box["y"] < 900, selector


def test_text_of_users_runs_nothing(untouched: Callable[[str], Page]) -> None:
    page = untouched("assess")
    assert page.evaluate("window.evil") is None
    assert EVIL in page.inner_text("h1")


@pytest.mark.parametrize("kind", KINDS)
def test_every_control_shows_what_it_says(
    untouched: Callable[[str], Page], pages: dict[str, Any], kind: str
) -> None:
    page = untouched(kind)
    for figure in figures_of(pages[kind][0])[0]:
        controls = figure.controls()
        # The first once more, as the page shall be left.
        for view in (*figure.views, *figure.views[: bool(controls)]):
            assert all(view.choice[name] in values for name, values in controls.items())
            choose(page, figure.name, {name: view.choice[name] for name in controls})
            if "data" in view.spec and view.spec["data"]["values"]:
                assert view_data(page, figure.name) == list(view.spec["data"]["values"])


def test_the_map_of_a_sweep_shows_the_cells_of_the_store(
    untouched: Callable[[str], Page], pages: dict[str, Any]
) -> None:
    page = untouched("sweep")
    cells = pages["sweep"][0].sides[0].grid
    for threads in ("4", "1"):
        choose(page, "heat-map", {"Shown": "IOPS", "Threads": threads})
        shown = set(shown_texts(page, "heat-map"))
        for cell in cells:
            if cell.parameters["threads"] == threads:
                thousands = cell.point.iops / 1000
                assert f"{thousands:.3g}k" in shown


@pytest.mark.parametrize("kind", KINDS)
def test_tables_behind_the_figures_have_all_numbers(
    untouched: Callable[[str], Page], pages: dict[str, Any], kind: str
) -> None:
    page = untouched(kind)
    for figure in figures_of(pages[kind][0])[0]:
        behind = page.locator(f"#{figure.name} details.numbers-behind summary")
        behind.click()
        rows = page.eval_on_selector_all(
            f"#{figure.name} tbody tr",
            "rows => rows.map(row => [...row.children].map(cell => cell.textContent))",
        )
        assert rows == figure.table.texts()
        behind.click()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_or_lies_over_another(untouched: Callable[[str], Page], kind: str) -> None:
    assert_whole(untouched(kind), DESKTOP)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_or_lies_over_another_on_a_phone(
    browser: Browser, pages: dict[str, Any], kind: str
) -> None:
    page = opened(browser, pages[kind][1], PHONE)
    assert_whole(page, PHONE)
    page.close()


def assert_whole(page: Page, width: int) -> None:
    """Hold that no word of a page is cut, shortened or covered by another."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_CUT) == []
    assert page.evaluate(_OVERLAPPING) == []


@pytest.mark.parametrize("width", [PHONE, 800, DESKTOP])
def test_a_wide_table_showed_a_part_of_a_number_at_its_edge(
    browser: Browser, pages: dict[str, Any], width: int
) -> None:
    page = opened(browser, pages["compare"][1], width)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for left in (0, 150, 5_000):
        page.evaluate(_SCROLLED, left)
        page.wait_for_timeout(400)
        assert page.evaluate(_CUT_COLUMNS) == []
    # What is not to be seen is named below the table.
    notes = page.evaluate("[...document.querySelectorAll('.beside')].map((one) => one.innerText)")
    assert notes
    assert all("Scroll the table sideways." in one for one in notes if one)
    page.close()


_SCROLLED = """(left) => document.querySelectorAll(".scroll").forEach((box) => {
  box.scrollLeft = left;
})"""
# Columns of which a part is within the place of a table, and a part is not.
_CUT_COLUMNS = """() => [...document.querySelectorAll(".scroll")].flatMap((box) => {
  const left = box.getBoundingClientRect().left + box.clientLeft;
  const right = left + box.clientWidth;
  return [...box.querySelector("tr").cells].filter((cell) => {
    const { left: from, right: to } = cell.getBoundingClientRect();
    const isOut = to <= left + 1 || from >= right - 1;
    const isWithin = from >= left - 1 && to <= right + 1;
    return box.clientWidth > 0 && to > from && !isOut && !isWithin;
  }).map((cell) => `${box.getAttribute("aria-label")}: ${cell.textContent}`);
})"""
# Words of a figure that reach beyond its picture, or that were shortened.
_CUT = """() => [...document.querySelectorAll(".plot svg")].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    const hidden = text.textContent === "" || getComputedStyle(text).opacity === "0";
    return !hidden && (text.textContent.includes("…") || box.left < room.left - 1
      || box.right > room.right + 1 || box.top < room.top - 1 || box.bottom > room.bottom + 1);
  }).map((text) => text.textContent);
})"""
# Pairs of words of one figure that lie over each other by more than a hair.
_OVERLAPPING = """() => [...document.querySelectorAll(".plot svg")].flatMap((svg) => {
  const words = [...svg.querySelectorAll("text")].filter((text) =>
    text.textContent !== "" && getComputedStyle(text).opacity !== "0");
  const boxes = words.map((text) => text.getBoundingClientRect());
  const found = [];
  for (let one = 0; one < boxes.length; one++) {
    for (let other = one + 1; other < boxes.length; other++) {
      const [a, b] = [boxes[one], boxes[other]];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const both = `${words[one].textContent} / ${words[other].textContent}`;
      if (across > 2 && down > 4) found.push(both);
    }
  }
  return found;
})"""


def test_colours_follow_the_switch_and_paper_is_light(untouched: Callable[[str], Page]) -> None:
    page = untouched("assess")
    ground = "getComputedStyle(document.body).backgroundColor"
    words = "getComputedStyle(document.querySelector('#load-curve svg text')).fill"
    light = page.evaluate(ground), page.evaluate(words)
    page.select_option("#theme", "dark")
    dark = page.evaluate(ground), page.evaluate(words)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert brightness(dark[0]) < 60
    assert brightness(dark[1]) > 200
    page.emulate_media(media="print")
    assert (page.evaluate(ground), page.evaluate(words)) == light
    page.emulate_media(media="screen")
    page.select_option("#theme", "")
    assert (page.evaluate(ground), page.evaluate(words)) == light


def brightness(colour: str) -> float:
    """Return the mean of the parts of ``rgb(1, 2, 3)``."""
    parts = [float(one) for one in re.findall(r"[\d.]+", colour)[:3]]
    return sum(parts) / 3


def test_all_controls_are_reached_by_the_keyboard(browser: Browser, pages: dict[str, Any]) -> None:
    page = opened(browser, pages["sweep"][1])
    reached = set()
    wanted = {"Shown", "Threads", "Block", "theme"}
    for _ in range(200):
        page.keyboard.press("Tab")
        at = page.evaluate("document.activeElement.name || document.activeElement.id")
        reached.add(at)
        if wanted <= reached:
            break
    assert wanted <= reached
    # And an arrow key changes what is shown.
    page.locator('#heat-map input[name="Shown"]').first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator('#heat-map input[value="MiB/s"]').is_checked()
    page.close()


def test_a_pointer_over_a_point_tells_its_numbers(untouched: Callable[[str], Page]) -> None:
    page = untouched("sweep")
    page.locator("#heat-map").scroll_into_view_if_needed()
    page.locator("#heat-map svg .mark-text text", has_text="k").first.hover()
    tooltip = page.wait_for_selector("#vg-tooltip-element.visible")
    assert tooltip is not None
    assert "block" in tooltip.inner_text()
    assert "measured" in tooltip.inner_text()
    page.mouse.move(0, 0)
    page.wait_for_selector("#vg-tooltip-element.visible", state="detached")


def test_a_narrower_window_draws_again(browser: Browser, pages: dict[str, Any]) -> None:
    page = opened(browser, pages["assess"][1])
    page.set_viewport_size({"width": PHONE, "height": 800})
    page.wait_for_function(
        "() => document.querySelector('#load-curve svg').getBoundingClientRect().width < 400 &&"
        "+document.querySelector('#load-curve .plot').dataset.drawn > 1"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    page.close()
