"""What findings take for a load, and which loads they take for the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom import Result
from fathom._asked import asked_load
from fathom.findings import find
from fathom.findings.observed import observe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.findings.observed import Load


def asked(
    result: Result,
    *,
    span: Mapping[str, object] = {},
    extensions: Mapping[str, object] = {},
    options: Mapping[str, object] = {},
    **target: object,
) -> Result:
    """Return a result with more in the request of its time span, its target and its options."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(result.raw)))
    (first,) = raw["request"]["profile"]["time_spans"]
    first |= span
    first["targets"][0] |= target
    first["targets"][0].setdefault("extensions", {}).update(extensions)
    raw["request"]["options"] |= options
    return Result.from_json(json.dumps(raw))


def through(result: Result, engine: str) -> Result:
    """Return a result of threads with this engine."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(result.raw)))
    for thread in raw["time_spans"][0]["threads"]:
        thread["backend"]["name"] = engine
    return Result.from_json(json.dumps(raw))


def load_of(result: Result) -> Load:
    """Return the load that rules see."""
    observed = observe(result)
    assert observed is not None
    return observed.load


def test_requests_per_thread_counted_where_no_threads_share_the_targets() -> None:
    """-t2 -O8 -o1 keeps 2 outstanding, not 16: the engine takes -O with -F alone."""
    own = fabricated(threads=2, depth=1)
    for thread_count, depth in ((0, 1), (2, 8)):
        result = asked(own, span={"request_count": 8, "thread_count": thread_count})
        assert asked_load(result.raw["request"]).depth == depth
        assert (load_of(result).threads, load_of(result).depth) == (2, depth)


def test_depth_that_the_engine_never_kept_told_a_limit() -> None:
    """--engine=sync -o16 has one in flight: a device of its own rate was a provisioned limit."""
    runs = [
        fabricated(depth=depth, block_bytes=kib << 10, rates=rate)
        for depth, kib, rate in ((1, 4, 10e3), (4, 8, 9.9e3), (16, 4, 10.05e3))
    ]
    assert "provisioned-limit" in {one.rule for one in find(runs)}
    waiting = [through(one, "sync") for one in runs]
    assert "provisioned-limit" not in {one.rule for one in find(waiting)}
    assert [load_of(one).outstanding for one in waiting] == [1, 1, 1]


@pytest.mark.parametrize(
    ("engine", "caching", "depth"),
    [
        ("io_uring", "cached", 8),
        ("mmap", "cached", 1),
        ("libaio", "cached", 1),
        ("libaio", "unbuffered", 8),
    ],
)
def test_an_engine_that_waits_for_each_io_has_one_outstanding(
    engine: str, caching: str, depth: int
) -> None:
    result = through(fabricated(threads=2, depth=8, caching=caching), engine)
    assert load_of(result).outstanding == 2 * depth
