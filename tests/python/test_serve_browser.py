"""The pages of ``fathom serve`` in a real browser: widths, themes, keyboard, two viewers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsers import needs_chromium, started_browser
from fabricated import fabricated
from fathom.store import Store
from reported import EVIL, saved_assessment
from served import Server, served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
DESKTOP, PHONE = 1400, 420
PAGES = ("/", "/start", "/runs", "/experiments", "/compare?a=7&b=8", "/trends", "/findings")
DRAWN = ("/runs/7", "/experiments/1", "/trends/7")
LOAD = "-c8M -b4K -r -o4 -L -W0 -d60"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("browsed")
    with Store(folder / "store.sqlite") as store:
        saved_assessment(store, name=f"/mnt/{EVIL}", evil=EVIL)
        for at in range(8):
            result = fabricated(rates=1000.0 + at, latency_ns=100.0, path=f"/mnt/{EVIL}", depth=8)
            store.runs.save(result, ["-o8", f"/mnt/{EVIL}"], label=EVIL)
    with served(folder) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as found:
        yield found


def opened(browser: Browser, server: Server, width: int, theme: str) -> tuple[Page, list[str]]:
    """Return a page of somebody who has the token, and what it will complain about."""
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
    )
    # Only a machine that does much else takes so long.
    page.set_default_timeout(120_000)
    complaints: list[str] = []
    page.on("console", lambda one: complaints.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda one: complaints.append(str(one)))
    page.goto(f"{server.base}/?token={server.token}")
    assert page.url == f"{server.base}/"
    return page, complaints


def axe() -> str:
    """Return axe-core, which a package of Python's brings along."""
    found = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "theme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_each_page_is_whole_and_readable(
    browser: Browser, server: Server, width: int, theme: str
) -> None:
    script = axe()
    page, complaints = opened(browser, server, width, theme)
    for path in (*PAGES, *DRAWN):
        page.goto(f"{server.base}{path}")
        if path in DRAWN or "compare" in path:
            page.wait_for_selector("body[data-ready=yes]")
        over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(over) <= 0, path
        assert page.evaluate("window.evil") is None
        page.evaluate(script)
        found = page.evaluate("axe.run({resultTypes: ['violations'], selectors: false})")
        serious = [
            (one["id"], one["nodes"][0]["html"])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path
        assert page.query_selector_all(".problem") == []
    assert complaints == []
    page.close()


def test_a_run_by_keyboard_alone_seen_by_two_and_stopped(browser: Browser, server: Server) -> None:
    other, other_complaints = opened(browser, server, PHONE, "light")
    page, complaints = opened(browser, server, DESKTOP, "dark")
    page.goto(f"{server.base}/start")
    page.wait_for_selector("body[data-ready=yes]")
    assert page.locator("#go").is_disabled()
    reach(page, "textarea")
    page.keyboard.type(LOAD)
    reach(page, "input[name=target]")
    page.keyboard.type(str(server.folder / f"{EVIL[:8]}.dat"))
    reach(page, "#explain")
    page.keyboard.press("Enter")
    page.wait_for_selector("#go:not([disabled])")
    assert "1 run, about 1:00" in page.inner_text("#words")
    reach(page, "#go")
    page.keyboard.press("Enter")
    for one in (page, other):
        one.wait_for_selector(".live .numbers dd")
        one.wait_for_selector(".live polyline", state="attached")
        assert "<script>" in one.inner_text(".live h2")
    reach(page, ".live .stop")
    page.keyboard.press("Enter")
    for one in (page, other):
        one.wait_for_selector(".live", state="detached")
        assert one.locator("#ended tr").first.inner_text().startswith("interrupted")
    assert (complaints, other_complaints) == ([], [])
    page.close()
    other.close()


def reach(page: Page, selector: str) -> None:
    """Press the tabulator until it is there."""
    for _ in range(80):
        if page.evaluate("one => document.activeElement.matches(one)", selector):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"the keyboard does not reach {selector}")


KINDS = {
    "repeat": "-c8M -b4K -r -o2 -L -W0 -d3",
    "sweep": "-c8M -b4K -r -L --depth 1..2 --duration 3s",
    "tune": "-c8M -b4K -r -L --depth 1..2 --threads 1..2",
    "assess": "--quick --size 64M",
    "compare": "--run -o1 -o2 -c8M -b4K -r -L -W0 -d3",
}


def test_each_kind_is_explained_started_watched_and_stopped(
    browser: Browser, server: Server
) -> None:
    page, complaints = opened(browser, server, DESKTOP, "light")
    place = server.folder / "kinds"
    place.mkdir()
    page.goto(f"{server.base}/start")
    page.wait_for_selector("body[data-ready=yes]")
    for kind in KINDS:
        page.locator("[name=verb]").select_option(kind)
        assert page.locator("[name=workload]").is_disabled() == (kind != "repeat")
        assert page.locator("textarea").get_attribute("placeholder")
    for kind, words in KINDS.items():
        asked(page, server, kind, words, place if kind == "assess" else place / "x.dat")
        # It was listed among those that were started elsewhere, too.
        page.reload()
        page.wait_for_selector(".live .numbers dd")
        assert "Started elsewhere" not in page.inner_text("main")
        page.locator(".live .stop").click()
        page.wait_for_selector(".live", state="detached")
        row = page.locator("#ended tr").first
        assert row.inner_text().startswith("interrupted")
        row.get_by_role("link").click()
        page.wait_for_url("**/experiments/*")
        assert kind in page.inner_text("main")
        assert "That did not work" not in page.inner_text("main")
    assert [*place.glob("fathom-assess-*")] == []
    assert complaints == []
    page.close()


def test_a_run_is_found_again_behind_a_server_that_was_killed(
    browser: Browser, tmp_path: Path
) -> None:
    with served(tmp_path) as first:
        page, _complaints = opened(browser, first, DESKTOP, "dark")
        # It would end by itself only after the slowest machine has started another server.
        asked(page, first, "run", "-c8M -b4K -r -o4 -L -W0 -d600", tmp_path / "x.dat")
        seen_s = time.monotonic()
        first.kill()
        page.wait_for_selector("text=The connection was lost")
        with served(tmp_path, "--port", str(first.port)) as second:
            page.goto(f"{second.base}/?token={second.token}")
            page.wait_for_selector(".live .numbers dd")
            passed_s = time.monotonic() - seen_s
            page.locator(".live .stop").click()
            page.wait_for_selector(".live", state="detached")
            assert page.locator("#ended tr").first.inner_text().startswith("interrupted")
            page.close()
    with Store(tmp_path / "store.sqlite") as store:
        (span,) = store.runs.get(1).result.time_spans
    # Nothing of it was lost.
    assert span.measured_ns >= passed_s * 1e9


def asked(page: Page, server: Server, kind: str, words: str, target: Path) -> None:
    """Have something explained, start it, and wait until its first figures are there."""
    page.goto(f"{server.base}/start")
    page.wait_for_selector("body[data-ready=yes]")
    page.locator("[name=verb]").select_option(kind)
    page.locator("textarea").fill(words)
    page.locator("[name=label]").fill(f"by hand: {kind}")
    page.locator("[name=target]").fill(str(target))
    page.locator("#explain").click()
    page.wait_for_selector("#go:not([disabled])")
    page.locator("#go").click()
    page.wait_for_selector(".live .numbers dd")


def test_controls_do_what_they_say(browser: Browser, server: Server) -> None:
    page, complaints = opened(browser, server, DESKTOP, "light")
    page.goto(f"{server.base}/runs")
    page.get_by_role("button", name="IOPS").click()
    shown = [one.replace(",", "") for one in page.locator("td:nth-child(6)").all_inner_texts()]
    # The highest first.
    assert [*map(float, shown)] == sorted(map(float, shown), reverse=True)
    page.locator("[name=pick]").nth(0).check()
    assert page.locator("#compare-picked").is_disabled()
    page.locator("[name=pick]").nth(1).check()
    page.locator("#compare-picked").click()
    page.wait_for_selector("#changes, #told, .first")
    assert "/compare?a=" in page.url
    page.locator("#theme").select_option("dark")
    page.goto(f"{server.base}/runs/7")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.locator("#baseline [name=name]").fill("golden")
    page.locator("#baseline button").click()
    page.wait_for_selector("#baseline .told:has-text('golden')")
    page.goto(f"{server.base}/trends/7?baseline=golden")
    page.wait_for_selector("body[data-ready=yes]")
    assert "Against golden" in page.inner_text("main")
    assert complaints == []
    page.close()


def test_words_behind_an_open_quote_or_on_a_second_line_were_left_out(
    browser: Browser, server: Server
) -> None:
    page, complaints = opened(browser, server, DESKTOP, "light")
    page.goto(f"{server.base}/start")
    page.wait_for_selector("body[data-ready=yes]")
    page.fill("input[name=target]", str(server.folder / "split.dat"))
    page.fill("textarea", '-b4K -r -c1M "-d7 -W0')
    page.click("#explain")
    page.wait_for_selector("#problem:not([hidden])")
    assert 'A quote is not closed, or a backslash stands at the end: "-d7 -W0' in page.inner_text(
        "#problem"
    )
    assert page.locator("#go").is_disabled()
    page.fill("textarea", "-b4K -r -c1M \\\n  -d7 '-W0'")
    page.click("#explain")
    page.wait_for_selector("#go:not([disabled])")
    assert "-b4K -r -c1M -d7 -W0 --" in page.inner_text("#command")
    assert complaints == []
    page.close()


def test_the_time_left_was_told_by_the_clock_of_the_browser(
    browser: Browser, server: Server
) -> None:
    page, complaints = opened(browser, server, DESKTOP, "light")
    page.add_init_script("const now = Date.now; Date.now = () => now() + 3_600_000")
    page.goto(f"{server.base}/start")
    page.wait_for_selector("body[data-ready=yes]")
    page.fill("textarea", LOAD)
    page.fill("input[name=target]", str(server.folder / "clock.dat"))
    page.click("#explain")
    page.wait_for_selector("#go:not([disabled])")
    page.click("#go")
    page.wait_for_selector(".live .left:has-text('left of this run')")
    assert page.inner_text(".live .left")[:8] in ("about 1:", "about 0:")
    assert "0:00" not in page.inner_text(".live .left")
    page.click(".live .stop")
    page.wait_for_selector(".live", state="detached")
    assert complaints == []
    page.close()


def test_random_and_sequential_loads_and_kinds_of_experiments_were_not_told_apart(
    browser: Browser, server: Server
) -> None:
    page, _complaints = opened(browser, server, DESKTOP, "light")
    for path in ("/runs", "/trends"):
        page.goto(f"{server.base}{path}")
        assert " rand w0 t" in page.inner_text("main"), path
    page.goto(f"{server.base}/experiments")
    kinds = page.locator("select[name=verb] option").all_inner_texts()
    assert {"scale", "density"} <= {*kinds}
    page.close()


def test_seconds_without_an_io_had_one_and_latencies_of_minutes(
    browser: Browser, server: Server
) -> None:
    page, complaints = opened(browser, server, DESKTOP, "light")
    words = page.evaluate(
        """async () => {
            const { drawHeat, drawLine } = await import("/static/charts.js");
            const card = document.getElementById("card").content.firstElementChild;
            const seconds = [1, 2].map(() => ({ ios: 0, latency_octaves: {} }));
            const [line, heat] = ["svg.line", "canvas"].map((one) => card.querySelector(one));
            return [drawLine(line, seconds), drawHeat(heat, seconds)];
        }"""
    )
    assert words == ["IOPS of the last 2 s; the highest second has 0.", ""]
    assert complaints == []
    page.close()


def test_targets_among_the_arguments_and_what_was_refused_once_could_not_be_started(
    browser: Browser, server: Server
) -> None:
    page, _complaints = opened(browser, server, DESKTOP, "light")
    other, _others = opened(browser, server, DESKTOP, "light")
    for one in (page, other):
        one.goto(f"{server.base}/start")
        one.wait_for_selector("body[data-ready=yes]")
        one.fill("textarea", f"{LOAD} first.dat second.dat")
        one.click("#explain")
        one.wait_for_selector("#go:not([disabled])")
    page.click("#go")
    page.wait_for_selector(".live")
    other.click("#go")
    other.wait_for_selector("#problem:has-text('is under way')")
    page.click(".live .stop")
    page.wait_for_selector(".live", state="detached")
    other.click("#go")
    other.wait_for_selector(".live .stop")
    other.click(".live .stop")
    other.wait_for_selector(".live", state="detached")
    page.close()
    other.close()


def test_a_token_that_was_copied_with_its_option_had_the_option_twice(
    browser: Browser, server: Server
) -> None:
    page, complaints = opened(browser, server, DESKTOP, "light")
    page.goto(f"{server.base}/start")
    page.wait_for_selector("body[data-ready=yes]")
    page.fill("textarea", "-c1M -b4K -w100 -d1")
    page.fill("input[name=target]", str(server.folder / "token.dat"))
    page.fill("input[name=allow]", " --allow-write=SERIAL7 ")
    page.click("#explain")
    page.wait_for_selector("#explained:not([hidden])")
    assert page.inner_text("#command").startswith("fathom run --allow-write=SERIAL7 -c1M")
    assert complaints == []
    page.close()
