"""Results read from JSON, against the text that the engine printed for the same run."""

from __future__ import annotations

import json
import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from fathom import FathomError, Latency, Result
from fathom.result import SCHEMA_VERSION

ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parent / "fixtures"
JSON = (FIXTURES / "result.json").read_text()
TEXT = (FIXTURES / "result.txt").read_text()
RESULT = Result.from_json(JSON)
DIRECTIONS = ("read", "write", "total")
QUANTILES = {"min": 0.0, "3-nines": 0.999, "4-nines": 0.9999, "9-nines": 0.999999999, "max": 1.0}


def percentile_rows(after: str) -> list[tuple[float, dict[str, float]]]:
    """Quantile, and the milliseconds of each direction, of the table behind the given words."""
    table = TEXT.split(after)[1].split("\n\n")[0]
    rows = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 4 and cells[0] != "%-ile":
            name = cells[0]
            quantile = QUANTILES.get(name)
            if quantile is None and name.endswith("th"):
                quantile = int(name[:-2]) / 100
            if quantile is not None:
                values = map(float, cells[1:])
                rows.append((quantile, dict(zip(DIRECTIONS, values, strict=True))))
    return rows


def thread_rows(title: str) -> dict[str, list[float]]:
    """Bytes, I/Os, MiB/s, IOPS and mean latency in ms of each thread and of all."""
    table = TEXT.split(f"{title} IO\n")[1].split("\n\n")[0]
    found = re.findall(r"^ *(\d+|total) *[|:](.*)$", table, re.MULTILINE)
    return {name: [float(cell) for cell in row.split("|")[:5]] for name, row in found}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_service_times_are_those_of_the_printed_table(direction: str) -> None:
    latency = getattr(RESULT, direction).latency
    rows = percentile_rows("Total latency distribution:")
    assert len(rows) == 11
    for quantile, printed_ms in rows:
        assert f"{latency.quantile_ns(quantile) / 1e6:.3f}" == f"{printed_ms[direction]:.3f}"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_response_times_are_those_of_the_printed_table(direction: str) -> None:
    response = getattr(RESULT, direction).response
    rows = percentile_rows("Response times of timespan 1:")
    assert len(rows) == 11
    for quantile, printed_ms in rows:
        assert f"{response.quantile_ns(quantile) / 1e6:.3f}" == f"{printed_ms[direction]:.3f}"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_rates_and_means_are_those_of_the_printed_rows(direction: str) -> None:
    span = RESULT.time_spans[0]
    printed = thread_rows(direction.capitalize())
    assert sorted(printed) == ["0", "1", "total"]
    parts = {str(thread.index): thread for thread in span.threads} | {"total": span}
    for name, row in printed.items():
        part = getattr(parts[name], direction)
        assert [part.bytes, part.ios] == row[:2]
        shown = (part.mib_per_s, part.iops, part.latency.mean_ns / 1e6)
        assert [f"{shown[0]:.2f}", f"{shown[1]:.2f}", f"{shown[2]:.3f}"] == [
            f"{row[2]:.2f}",
            f"{row[3]:.2f}",
            f"{row[4]:.3f}",
        ]


def test_warnings_are_the_printed_ones() -> None:
    printed = TEXT.split("Warnings:\n")[1].splitlines()
    about = [f"{one.target}: " if one.target else "" for one in RESULT.warnings]
    lines = [
        f"- {name}{one.evidence} {one.remedy}"
        for name, one in zip(about, RESULT.warnings, strict=True)
    ]
    assert lines == printed
    assert [one.kind for one in RESULT.warnings] == ["page_cache", "page_cache", "core_saturated"]
    assert {one.time_span for one in RESULT.warnings} == {0}


def test_a_thread_says_where_and_how_it_ran() -> None:
    threads = RESULT.time_spans[0].threads
    assert [(one.os_cpu, one.engine) for one in threads] == [(0, "io_uring"), (1, "io_uring")]
    assert all(one.cpu_ns > 0 for one in threads)


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        RESULT.total.ios = 0  # type: ignore[misc]


@pytest.mark.parametrize("quantile", [-0.1, 1.1, 99, float("nan")])
def test_a_percentile_is_no_quantile(quantile: float) -> None:
    latency = RESULT.total.latency
    assert latency is not None
    with pytest.raises(ValueError, match="from 0 to 1"):
        latency.quantile_ns(quantile)


def test_ranks_are_free_of_rounding_errors() -> None:
    # 0.07 * 100 is a hair above 7 in binary; the seventh value is meant.
    buckets = dict.fromkeys(range(1, 101), 1)
    latency = Latency(count=100, min_ns=1, max_ns=100, sum_ns=5050, buckets=buckets)
    found = [latency.quantile_ns(percent / 100) for percent in range(1, 101)]
    assert found == list(range(1, 101))


def edited(**changes: object) -> dict[str, Any]:
    """Return the fixture with its only time span changed."""
    data: dict[str, Any] = json.loads(JSON)
    data["time_spans"][0].update(changes)
    return data


def test_the_ways_a_time_span_ends() -> None:
    def ending(outcome: object) -> tuple[bool, str | None]:
        span = Result.from_json(json.dumps(edited(outcome=outcome))).time_spans[0]
        return span.complete, span.failure

    assert ending("complete") == (True, None)
    assert ending("interrupted") == (False, None)
    assert ending({"failed": "the disk is gone"}) == (False, "the disk is gone")


def test_a_time_span_that_never_began_has_zeros_and_no_latency() -> None:
    data = edited(outcome={"failed": "no"}, measured_ns=0, threads=[], cpu=[])
    span = Result.from_json(json.dumps(data)).time_spans[0]
    assert (span.total.ios, span.total.iops, span.total.mib_per_s) == (0, 0.0, 0.0)
    assert (span.total.latency, span.total.response, span.cpu_percent) == (None, None, 0.0)


def test_a_format_of_another_version_is_refused() -> None:
    data = json.loads(JSON) | {"schema_version": SCHEMA_VERSION + 1}
    with pytest.raises(ValueError, match=f"reads version {SCHEMA_VERSION}"):
        Result.from_json(json.dumps(data))


def test_a_result_without_a_request_reads_as_one_whose_options_are_not_known() -> None:
    old = Result.from_json((FIXTURES / "result-before-requests.json").read_text())
    new = Result.from_json(JSON)
    assert old.total == new.total
    assert old.raw["request"]["profile"] == new.raw["request"]["profile"]
    assert old.raw["request"]["request_version"] == 0


def test_the_version_read_is_the_version_written() -> None:
    source = (ROOT / "crates/core/src/result/mod.rs").read_text()
    assert f"pub const SCHEMA_VERSION: u32 = {SCHEMA_VERSION};" in source


def _places(data: Any, where: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401 - JSON.
    """Return where all parts of JSON stand; of a list the first alone."""
    inner = data.items() if isinstance(data, dict) else [*enumerate(data)][:1]
    found = [(*where, key) for key, _ in inner]
    deeper = [(key, one) for key, one in inner if isinstance(one, dict | list)]
    return found + [place for key, one in deeper for place in _places(one, (*where, key))]


def test_what_is_no_result_is_a_value_error_and_nothing_else() -> None:
    for text in ("", "x", "[]", "5", "null", '{"schema_version": 1}'):
        with pytest.raises(ValueError, match=r".+"):
            Result.from_json(text)
    nothings: tuple[Any, ...] = (None, 5, {})
    for nothing in nothings:
        with pytest.raises(ValueError, match="a result is a text"):
            Result.from_json(nothing)
    wrongs: tuple[Any, ...] = (None, [], "x", {}, -1, [None])
    for place in _places(json.loads(JSON)):
        for wrong in wrongs:
            data = json.loads(JSON)
            part = data
            for key in place[:-1]:
                part = part[key]
            part[place[-1]] = wrong
            try:
                Result.from_json(json.dumps(data))
            except ValueError:
                continue


def test_a_result_without_a_time_span_says_so() -> None:
    result = Result.from_json(json.dumps({**json.loads(JSON), "time_spans": []}))
    for name in DIRECTIONS:
        with pytest.raises(FathomError, match="has no time span"):
            getattr(result, name)


def test_results_can_be_members_of_sets() -> None:
    assert len({RESULT, Result.from_json(JSON)}) == 1
    assert len({RESULT.time_spans[0], RESULT.time_spans[0].threads[0], RESULT.total.latency}) == 3
