"""A run that the store knows as failed or interrupted says so on its page, too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom import Result, Store
from fathom.report import gather
from fathom.report.render.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fathom.report.material import Side

_WHY = "verification found 3 wrong blocks"
_CLEAN = "Nothing speaks against these numbers."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.sqlite") as opened:
        yield opened


def _raw() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(json.dumps(dict(fabricated().raw)))
    return raw


def _page(store: Store, raw: dict[str, Any], failures: Sequence[str] = ()) -> tuple[Side, str]:
    result = Result.from_json(json.dumps(raw))
    number = store.runs.save(result, ["x"], label="mine", failures=failures)
    material = gather(store, [str(number)])
    return material.sides[0], markdown(material)


def _headline(side: Side) -> str:
    assert side.verdict is not None
    return side.verdict.headline


def test_a_failure_that_only_the_store_knows_stands_behind_the_rate(store: Store) -> None:
    """The page had plain figures, and nothing spoke against them."""
    side, text = _page(store, _raw(), failures=(_WHY,))
    assert _headline(side).endswith(f" It failed: {_WHY}.")
    assert "not to its end" not in _headline(side)
    assert side.failed == (("mine", _WHY),)
    assert "### Failed measurements" in text
    assert _CLEAN not in side.without_advice


def test_a_run_with_fewer_time_spans_than_planned_did_not_come_to_its_end(store: Store) -> None:
    raw = _raw()
    raw["request"]["profile"]["time_spans"] *= 2
    side, _text = _page(store, raw)
    assert _headline(side).startswith("mine, not to its end: ")
    assert side.failed == ()
    assert _CLEAN not in side.without_advice


def test_a_run_that_ended_before_its_load_says_that(store: Store) -> None:
    side, text = _page(store, {**_raw(), "time_spans": []})
    assert _headline(side) == "mine: it ended before its load began."
    assert "it ended before its load began" in text


def test_a_complete_run_has_no_such_words(store: Store) -> None:
    side, _text = _page(store, _raw())
    assert side.failed == ()
    assert side.without_advice == _CLEAN
    assert "end" not in _headline(side).partition(":")[0]
