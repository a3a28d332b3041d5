"""The page of one run that failed says why, and no figure of it stands without that."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricated import fabricated
from fathom.report.collect._points import run_of_result
from fathom.report.collect._runs import runs_side
from fathom.report.collect.gather import gather
from fathom.report.render.markdown import markdown
from fathom.result import Result

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.report.material import Side

_WHY = "thread 0: write of 4096 bytes at offset 0 of 'x.dat' failed: No space left on device"
_STALL = "the measured time ended in a stall: 1 I/O was in flight at its end, the oldest for 1.9 s"


def failed(**made: Any) -> Result:  # noqa: ANN401 - Of the load.
    raw = dict(fabricated(**made).raw)
    raw["failures"] = [{"kind": "no_space", "code": "ENOSPC", "message": _WHY}]
    raw["time_spans"][0]["outcome"] = {"failed": _WHY}
    return Result.from_json(json.dumps(raw))


def side_of(result: Result) -> Side:
    return runs_side("one", [run_of_result(result, "my run")])


def test_a_run_that_failed_half_way_says_why_beside_its_rate() -> None:
    side = side_of(failed())
    assert side.verdict is not None
    assert side.verdict.headline.startswith("my run, not to its end: 10,000 IOPS")
    assert side.verdict.headline.endswith(f". It failed: {_WHY}.")
    assert side.failed == (("my run", _WHY),)


def test_its_page_has_the_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(dict(failed().raw)), encoding="utf-8")
    page = markdown(gather(None, [str(path)]))
    assert "### Failed measurements" in page
    assert page.count("No space left on device") >= 2


def test_a_run_that_did_not_fail_has_no_such_sentence() -> None:
    side = side_of(fabricated())
    assert side.failed == ()
    assert side.verdict is not None
    assert "failed" not in side.verdict.headline


def test_a_stall_stands_beside_latencies_even_where_no_device_answered() -> None:
    doubts = [("page_cache", "It held 80 % of what was read."), ("stalled_at_end", _STALL)]
    side = side_of(fabricated(warnings=doubts, caching="cached"))
    assert side.verdict is not None
    assert side.verdict.headline.startswith("No verdict on a device")
    assert side.verdict.headline.endswith("; but the target stalled (certain).")
    conditions = {one.label: one.conditions for one in side.numbers}
    assert conditions["Mean latency"] == "the target stalled"
    assert conditions["99 of 100 I/Os within"].endswith("the target stalled")
    assert not conditions["IOPS"]
