"""What pictures of a report show is what the words and tables beside them say."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated
from fathom import Result
from fathom.hosts import HostFigures
from fathom.report import gather, html_page, markdown, picture
from fathom.report.figures._common import run_choice
from fathom.report.figures.hosts import _spec
from fathom.report.material import DensityPoint, Family, Material, Point, ReportedRun, Side
from fathom.store import Store
from reported import column, figures, saved_repetition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fathom.report import View

TURNED = "one\u202eowt\u202c"
SPELT = "one\\u202eowt\\u202c"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def saved_runs(store: Store, labels: list[str]) -> list[str]:
    """Save a run of each label, each with 1,000 IOPS more than the one before."""
    for number, label in enumerate(labels, start=1):
        store.runs.save(fabricated(rates=1_000.0 * number), ["x.dat"], label=label)
    return [str(one.id) for one in reversed(store.runs.list())]


def drawn_texts(view: View, width: int = 760) -> list[str]:
    """Return all words that are drawn."""
    svg = picture(view, "svg", width=width).decode()
    return re.findall(r"<t(?:ext|span)[^>]*>([^<]+)</t", svg)


def test_a_name_that_turns_letters_around_did_so_in_pictures(kept: Store) -> None:
    material = gather(kept, [",".join(saved_runs(kept, [TURNED, "plain"]))])
    for name in ("workloads", "time-series", "latency-distribution"):
        for view in figures(material)[name].views:
            assert "\u202e" not in json.dumps([view.spec, view.choice], ensure_ascii=False)
    assert SPELT in drawn_texts(figures(material)["workloads"].views[0])
    # What a control of the page offers is what its picture is found by.
    shown = [one.choice["Run"] for one in figures(material)["time-series"].views]
    assert shown == [SPELT, "plain"]
    page = html_page(material)
    assert "\u202e" not in page
    assert all(f'value="{one}"' in page or f"<option>{one}</option>" in page for one in shown)


def ticks(view: View) -> list[str]:
    """Return what stands at the first upright axis, with its unit behind the number."""
    return [one for one in drawn_texts(view) if re.fullmatch(r"[\d.]+[kM]?", one)]


def test_all_ticks_of_paced_runs_were_called_1m(kept: Store) -> None:
    rates = [1_000_000.1, 1_000_000.2, 1_000_000.15]
    shown = figures(gather(kept, [f"e{saved_repetition(kept, rates)}"]))["box-plots"].views[0]
    found = [one for one in ticks(shown) if one.endswith("M")]
    assert len(found) > 1
    assert len({*found}) == len(found)
    # Runs that do differ have the room of the picture.
    apart = [500_000.0, 520_000.0, 510_000.0]
    shown = figures(gather(kept, [f"e{saved_repetition(kept, apart)}"]))["box-plots"].views[0]
    assert "domain" not in shown.spec["vconcat"][0]["encoding"]["y"]["scale"]


def test_the_last_intervals_of_a_run_were_joined_with_none_and_lost(kept: Store) -> None:
    # 241 of 100 ms: three each are joined, and one is left.
    rates = np.append(np.full(240, 1_000.0), 50_000.0)
    kept.runs.save(fabricated(rates=rates), ["x.dat"])
    table = figures(gather(kept, ["1"]))["time-series"].table
    (at,) = [number for number, one in enumerate(table.columns) if one.name == "To"]
    (rate,) = [number for number, one in enumerate(table.columns) if one.name == "IOPS"]
    assert table.rows[-1][at] == pytest.approx(24.1)
    assert table.rows[-1][rate] == pytest.approx(50_000)
    # Less than half an interval has no rate.
    raw = json.loads(json.dumps(dict(fabricated(rates=rates).raw)))
    raw["time_spans"][0]["measured_ns"] -= 60_000_000
    kept.runs.save(Result.from_json(json.dumps(raw)), ["x.dat"])
    table = figures(gather(kept, ["2"]))["time-series"].table
    assert table.rows[-1][at] == pytest.approx(24.0)


def test_a_label_that_ended_like_a_second_run_shared_its_bar() -> None:
    def side(name: str, *labels: str) -> Side:
        points = [Point(one, 1, 1, 4096, 0, 1_000.0, 3.9) for one in labels]
        runs = [
            ReportedRun("", "", one.label, (), fabricated(), one, None, {"random_percent": 100})
            for one in points
        ]
        return Side(name, "run", runs=tuple(runs))

    material = Material("x", "x", (side("x", "a (2)", "a", "a", "a (2)"),), "now")
    names = [choice["Run"] for choice, _ in run_choice(material)]
    assert names == ["a (2)", "a", "a (3)", "a (2) (2)"]
    rows = figures(material)["workloads"].spec["data"]["values"]
    assert len({row["name"] for row in rows}) == len(rows)
    # Names of their own stay as they are.
    material = Material("x", "x", (side("x", "a", "b", "a (2)"),), "now")
    assert [choice["Run"] for choice, _ in run_choice(material)] == ["a", "b", "a (2)"]


def test_a_host_of_quick_reads_took_no_time_in_its_picture() -> None:
    found = fabricated(rates=12e6, latency_ns=0.3).time_spans[0].total
    slow = fabricated(rates=3.0, latency_ns=20e6).time_spans[0].total
    told = [
        HostFigures(name, total, "1", "Linux", 0, 9, 0, 0, None, None)
        for name, total in (("quick", found), ("slow", slow))
    ]
    words = [one["words"] for one in _spec(told)["data"]["values"]]
    assert re.search(r"99 % 0\.4\d+ µs", words[0])
    assert re.search(r"99 % \d\d(\.\d)? s - the slowest", words[1])


def test_tps_of_a_density_stood_over_the_iops_of_another() -> None:
    def side(name: str, per_s: str, rate: float) -> Side:
        members = (("one", rate, 0.0004),)
        point = DensityPoint(1, rate, rate, 1.0, 1.0, 0.0004, "none", "Nothing.", members)
        return Side(name, "density", densities=(point,), per_s=per_s)

    sides = (side("a", "TPS", 0.04), side("b", "IOPS", 90_000.0))
    figure = figures(Material("x", "x", sides, "now"))["density"]
    assert not any("TPS" in one.title for one in figure.table.columns)
    assert column(figure, "Unit") == ["TPS", "IOPS"]
    # What was measured is more than nothing, in the table and where one points.
    at = [one.name for one in figure.table.columns].index("Together")
    assert [row[at] for row in figure.table.texts()] == ["0.0400", "90,000"]
    (panel,) = (one["data"]["values"] for one in figure.spec["vconcat"][2:])
    assert [row["words"] for row in panel] == ["0.4 µs"]
    # Of one unit it stands in the title.
    figure = figures(Material("x", "x", sides[:1], "now"))["density"]
    names = [one.name for one in figure.table.columns]
    assert "Together TPS" in names
    assert "Unit" not in names


def test_two_disks_of_one_model_had_one_name_in_a_legend() -> None:
    def side(name: str, rate: float) -> Side:
        points = tuple(
            Point(f"{depth}", 1, depth, 4096, 0, rate * depth, 3.9, mean_ns=1e5) for depth in (1, 2)
        )
        return Side(name, "sweep", families=(Family({}, points),))

    disk = "/dev/disk/by-id/nvme-A_MODEL_OF_A_MAKER_1TB_S5GXNX0T12345"
    sides = (side(f"{disk}6A", 1e4), side(f"{disk}7B", 2e4), side("/dev/sda", 3e4))
    view = figures(Material("x", "x", sides, "now"))["load-curve"].views[0]
    assert view.choice == {"Of": "all together"}
    words = drawn_texts(view)
    assert [one for one in words if one.startswith("/dev/disk/") and one.endswith("6A")]
    assert [one for one in words if one.startswith("/dev/disk/") and one.endswith("7B")]
    assert "/dev/sda" in words


def test_a_page_without_pictures_had_a_control_that_did_nothing(kept: Store) -> None:
    page = html_page(Material("x", "x", (Side("x", "sweep"),), "now"))
    assert 'id="theme"' not in page
    assert "there are no pictures" not in page
    page = html_page(gather(kept, saved_runs(kept, ["a"])))
    assert 'id="theme"' in page
    assert "there are no pictures" in page
    assert "Table: Workloads (1 row)" in page


def test_one_row_was_one_rows(kept: Store) -> None:
    saved_runs(kept, [f"run of {number}" for number in range(61)])
    assert "\n1 more row is in the HTML report." in markdown(
        gather(kept, [",".join(map(str, range(1, 62)))])
    )
    text = markdown(gather(kept, [f"e{saved_repetition(kept, [9_000.0])}"]))
    assert "# 1 time\n" in text
    text = markdown(gather(kept, [f"e{saved_repetition(kept, [9_000.0, 9_100.0])}"]))
    assert "# 2 times\n" in text
