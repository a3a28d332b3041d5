"""A small figure keeps its digits: 0.039 MiB/s is not 0.0, and 300 ns are not 0.000 ms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated
from fathom import Store
from fathom.report import gather
from fathom.report.figures._common import POINT_COLUMNS
from fathom.report.render.markdown import markdown
from fathom.web import pages
from fathom.web.lookups import run_out

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Return a store with a run that did ten I/Os a second, each of 300 ns."""
    place: Path = tmp_path_factory.mktemp("small") / "s.sqlite"
    with Store(place) as opened:
        result = fabricated(rates=10.0, latency_ns=np.full(200, 300.0))
        opened.runs.save(result, ["x"], label="slow")
        yield opened


def test_the_table_of_runs_of_the_web_has_no_nought_for_what_is_small(store: Store) -> None:
    content = {"runs": [run_out(one) for one in store.runs.list()], "named": {}}
    text = pages._environment().get_template("_runs.html").render(content)
    shown = re.findall(r'<td data-value="[^"]*">([^<]*)</td>', text)
    assert shown[0] == "10"
    assert shown[1] == "0.0391"
    assert shown[2].startswith("0.0003")
    assert shown[3].startswith("0.0003")


def test_the_tables_of_a_report_have_no_nought_for_what_is_small(store: Store) -> None:
    text = markdown(gather(store, ["1"]))
    assert "0.0003" in text
    assert "| 0.000 |" not in text


@pytest.mark.parametrize("title", ["IOPS", "MiB/s", "mean [ms]", "p99 [ms]"])
@pytest.mark.parametrize(("value", "words"), [(0.0003, "0.000300"), (0.0391, "0.0391")])
def test_a_column_has_three_digits_of_each_figure(title: str, value: float, words: str) -> None:
    (column,) = (one for one in POINT_COLUMNS if one.title == title)
    assert column.text(value) == words
    assert column.text(85_312.4) == "85,312"
    assert column.text(0.0) in {"0.000", "0"}
