"""A run that ended before its load began, and one with a start that no calendar has."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom import Result, Store
from fathom._local_time import local_words
from fathom.cli.views.runs import local_time, show_result
from fathom.clusters.written import stamp
from fathom.hosts import host_figures, overlap_ns, overlap_sentence
from fathom.report import gather, page_content

if TYPE_CHECKING:
    from pathlib import Path

_FAR = "behind the year 9999"
_HOST = {
    "name": "a",
    "version": "1",
    "kernel": "6",
    "clock_offset_ns": 0,
    "clock_uncertainty_ns": 1,
    "outside_overlap_ns": 5,
}


def _raw() -> dict[str, Any]:
    raw: dict[str, Any] = json.loads(json.dumps(dict(fabricated().raw)))
    return raw


def _never_begun(**more: object) -> Result:
    return Result.from_json(json.dumps({**_raw(), "time_spans": [], **more}))


def test_a_run_without_a_time_span_is_shown_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """``fathom show`` printed half of it, and an IndexError."""
    result = _never_begun(warnings=[_warning()])
    assert host_figures(result) == []
    show_result(result)
    assert "it could not begin" in capsys.readouterr().out


def _warning() -> dict[str, object]:
    told = {"evidence": "it could not begin.", "remedy": "Begin it."}
    return {"kind": "odd", "target": None, "time_span": None, **told}


def test_hosts_of_a_fleet_that_never_began_are_named_without_figures() -> None:
    hosts = [_HOST, {**_HOST, "name": "b", "lost": "it hung up"}]
    parts = [{"host": {"name": one["name"]}, "time_spans": []} for one in hosts]
    result = _never_begun(hosts=hosts, parts=parts)
    assert [(one.name, one.total) for one in host_figures(result)] == [("a", None), ("b", None)]
    assert overlap_ns(result) is None
    assert overlap_sentence(result) is None


def test_a_part_with_fewer_time_spans_is_no_reason_to_refuse_the_whole() -> None:
    raw = _raw()
    raw["time_spans"][0]["cpu"] = []
    raw["parts"] = [{"host": {"name": "a"}, "time_spans": []}]
    assert Result.from_json(json.dumps(raw)).time_spans[0].cpu_percent == 0.0


def test_a_run_that_began_behind_the_last_calendar_has_a_report(tmp_path: Path) -> None:
    """A time stamp in microseconds ended ``fathom report`` with a ValueError."""
    raw = {**_raw(), "started_at_unix_s": 10**15}
    with Store(tmp_path / "s.sqlite") as store:
        number = store.runs.save(Result.from_json(json.dumps(raw)), ["x"])
        material = gather(store, [str(number)])
        assert material.happened == _FAR
        assert page_content(material)
        assert store.runs.list()


@pytest.mark.parametrize("unix_s", [10**15, 1e300])
def test_each_face_has_the_same_words_for_such_an_instant(unix_s: float) -> None:
    assert local_words(unix_s) == local_time(unix_s) == stamp(unix_s) == _FAR
    assert local_words(-unix_s) == "before the year 1"
