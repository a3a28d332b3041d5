"""Results that were measured together become one, with nothing lost and no mean of means."""

from __future__ import annotations

import copy
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

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
