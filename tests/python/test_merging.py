"""Results that were measured together become one, with nothing lost and no mean of means."""

from __future__ import annotations

import copy
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LOAD = "--engine=null -c1M -b4K -r -w30 -t2 -L -D100 -W0 -d1"


def _of_host(result: Result, name: str, began_unix_ns: int) -> Result:
    """Return a result as if it had been measured on another host, from an instant on."""
    raw = copy.deepcopy(dict(result.raw))
    raw["host"]["name"] = name
    for span in raw["time_spans"]:
        span["began_unix_ns"] = began_unix_ns
    return Result.from_json(json.dumps(raw))


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Result]:
    folder: Path = tmp_path_factory.mktemp("hosts")
    with ThreadPoolExecutor() as both:
        runs = [*both.map(fathom.run, [f"{_LOAD} {folder}/{name}.dat" for name in "ab"])]
    began_ns = runs[0].raw["time_spans"][0]["began_unix_ns"]
    return [_of_host(run, name, began_ns) for run, name in zip(runs, "ab", strict=True)]


@pytest.mark.parametrize("direction", ["read", "write", "total"])
def test_what_is_merged_is_the_sum_of_its_parts(hosts: Sequence[Result], direction: str) -> None:
    whole = getattr(fathom.merge(hosts), direction)
    parts = [getattr(host, direction) for host in hosts]
    for figure in ("ios", "bytes", "errors"):
        assert getattr(whole, figure) == sum(getattr(part, figure) for part in parts)
    buckets: Counter[int] = Counter()
    for part in parts:
        buckets.update(part.latency.buckets)
    assert whole.latency.buckets == dict(sorted(buckets.items()))
    assert whole.latency.sum_ns == sum(part.latency.sum_ns for part in parts)
    assert whole.latency.max_ns == max(part.latency.max_ns for part in parts)


def test_a_merged_result_names_its_parts_and_can_be_merged_again(hosts: Sequence[Result]) -> None:
    whole = fathom.merge(hosts)
    assert [part["host"]["name"] for part in whole.raw["parts"]] == ["a", "b"]
    assert [thread.index for thread in whole.time_spans[0].threads] == [0, 1, 2, 3]
    third = _of_host(hosts[1], "c", hosts[0].raw["time_spans"][0]["began_unix_ns"])
    assert fathom.merge([whole, third]).raw == fathom.merge([*hosts, third]).raw


def test_what_was_not_measured_together_is_not_added(hosts: Sequence[Result]) -> None:
    began_ns = hosts[0].raw["time_spans"][0]["began_unix_ns"]
    late = _of_host(hosts[1], "late", began_ns + 500_000_000)
    with pytest.raises(fathom.FathomError, match=r"'late' began 0\.500 s later"):
        fathom.merge([hosts[0], late])
    with pytest.raises(fathom.FathomError, match="no result to merge"):
        fathom.merge([])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-w31", r"targets\[0\]\.write_percent \(31 and 30\)"),
        ("--rate=2000", r"options\.total_iops \(2000 and null\)"),
        ("-o9", r"targets\[0\]\.outstanding \(9 and 2\)"),
    ],
)
def test_results_of_another_load_are_refused_naming_the_field(
    hosts: Sequence[Result], tmp_path: Path, options: str, words: str
) -> None:
    load = _LOAD.replace("-w30 ", "") if options.startswith("-w") else _LOAD
    other = _changed(hosts[1], fathom.parse(f"{load} {options} {tmp_path}/x"))
    with pytest.raises(fathom.FathomError, match=rf"'b' and 'a' differ in .*{words}"):
        fathom.merge([hosts[0], other])


def _changed(result: Result, request: fathom.Request) -> Result:
    """Return a result as if this had been requested of it."""
    raw = copy.deepcopy(dict(result.raw))
    raw["request"] = request.to_dict()
    raw["profile"] = raw["request"]["profile"]
    return Result.from_json(json.dumps(raw))


def test_parts_may_differ_in_their_seeds_and_ranges(hosts: Sequence[Result]) -> None:
    words = f"{_LOAD} -z9 -B64K:512K other.dat"
    merged = fathom.merge([hosts[0], _changed(hosts[1], fathom.parse(words))])
    assert merged.total.ios == sum(one.total.ios for one in hosts)


def test_a_result_is_not_counted_twice(hosts: Sequence[Result]) -> None:
    for twice in ([hosts[0], hosts[0]], [fathom.merge(hosts), hosts[1]], [fathom.merge(hosts)] * 2):
        with pytest.raises(fathom.FathomError, match="is there twice"):
            fathom.merge(twice)


@pytest.mark.parametrize("tolerance", [float("nan"), -1, float("inf"), 1e9, 1, True, "x", None])
def test_a_tolerance_is_a_share(hosts: Sequence[Result], tolerance: object) -> None:
    merge: Any = fathom.merge
    with pytest.raises(fathom.InvalidRequestError, match="a tolerance is a share"):
        merge(hosts, tolerance=tolerance)


def test_what_is_no_result_is_refused_and_not_an_error_of_attributes(
    hosts: Sequence[Result],
) -> None:
    merge: Any = fathom.merge
    for wrong in (None, 5, hosts[0], [None], "ab", [dict(hosts[0].raw)], [hosts[0], None]):
        with pytest.raises(fathom.InvalidRequestError, match=r"result|Result"):
            merge(wrong)
