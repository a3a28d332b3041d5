"""What findings take for a load, and which loads they take for the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fabricated import fabricated
from fathom import Result
from fathom._asked import asked_load
from fathom.findings import TargetEvidence, find
from fathom.findings.observed import observe
from fathom.findings.search import apply
from test_findings import two

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


def rules(*results: Result) -> set[str]:
    return {one.rule for one in find(results)}


UNLIKE: dict[str, dict[str, Any]] = {
    "sync": {"extensions": {"sync": {"every_writes": 1, "data_only": False}}},
    "skew": {"options": {"skew": {"zipf": {"theta_milli": 1200}}}},
    "engine": {"options": {"engine": "libaio"}},
    "verify": {"options": {"verify": True}},
    "data": {"write_data": {"source": "zero", "fresh_random": False}},
    "distribution": {"distribution": {"percent": [{"io_percent": 90, "length": 10}]}},
    "mix": {"extensions": {"block_mix": [{"block_bytes": 8192, "io_percent": 100}]}},
    "order": {"extensions": {"read_pattern": {"order": "sequential"}}},
    "trims": {"extensions": {"trim_percent": 30}},
    "CPUs": {"span": {"cpus": [{"group": 0, "index": 0}]}},
    "place": {"base_bytes": 1 << 30},
}


@pytest.mark.parametrize("name", UNLIKE)
def test_loads_that_differed_counted_as_the_same_load(name: str) -> None:
    """The same load gave 900 and 9,000 IOPS, it said: of --fsync=1, and of none."""
    slow, quick = fabricated(write=50, rates=900.0), fabricated(write=50, rates=9000.0)
    assert "noisy-neighbour" in rules(slow, quick)
    assert "noisy-neighbour" not in rules(asked(slow, **UNLIKE[name]), quick)
    # Two runs of it do not agree all the same.
    both = [asked(one, **UNLIKE[name]) for one in (slow, quick)]
    assert "noisy-neighbour" in rules(*both)


ALIKE: dict[str, dict[str, Any]] = {
    "seed and time": {"span": {"random_seed": 7, "duration_s": 60, "measure_latency": False}},
    "end": {"span": {"stop": {"ios": 100, "pass": False}}},
    "size": {"create_bytes": 1 << 30},
    "removal": {"options": {"remove_created": True, "interval_latency": True}},
    "what older results do not name": {
        "span": {"tuning": {"ring": None}, "cpu_order": {"core_first": False}},
        "extensions": {"block_mix": [], "read_pattern": None, "sync": None},
    },
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_is_no_matter_of_the_load_makes_no_other_load(name: str) -> None:
    one, other = fabricated(rates=900.0), asked(fabricated(rates=9000.0), **ALIKE[name])
    assert load_of(one) == load_of(other)
    assert "noisy-neighbour" in rules(one, other)


def test_data_that_reads_alone_never_write_make_no_other_load() -> None:
    zeros = {"source": "zero", "fresh_random": False}
    assert load_of(asked(fabricated(), write_data=zeros)) == load_of(fabricated())


def test_two_rates_of_a_schedule_were_two_rates_of_the_device() -> None:
    """-g500i and -g2000i: "the same load gave 500 and 2,000 IOPS"."""
    paced = [fabricated(rate={"iops": rate}, rates=float(rate)) for rate in (500, 2000)]
    assert rules(*paced) <= {"working-set-small"}
    # One that the device did not keep to is judged by what is said of that alone.
    behind = fabricated(rate={"iops": 2000}, rates=900.0)
    assert "noisy-neighbour" not in rules(paced[1], behind)


def test_a_rate_was_the_cache_of_a_drive() -> None:
    """8 GiB at 100 IOPS and 64 GiB at 9,000: waits for others, not for a cache that misses."""
    small = fabricated(limit=8 << 30, latency_ns=100.0)
    large = fabricated(latency_ns=400.0)
    assert "device-cache" in rules(small, large)
    slow, quick = ({"rate": {"iops": iops}} for iops in (100, 9000))
    assert "device-cache" not in rules(asked(small, **slow), asked(large, **quick))
    assert "device-cache" in rules(asked(small, **slow), asked(large, **slow))
    # Where either of them begins is no other respect.
    assert "device-cache" in rules(asked(small, base_bytes=1 << 30, limit_bytes=9 << 30), large)
    # Nor are the data that only the writes have.
    writes = fabricated(write=100, depth=32, rates=7_900.0, latency_ns=4_000.0)
    reads = fabricated(depth=32, rates=8_000.0, latency_ns=4_000.0)
    data = {"source": {"buffer": {"bytes": 1 << 20, "file": None}}, "fresh_random": True}
    seen = [observe(one) for one in (reads, asked(writes, write_data=data))]
    evidence = TargetEvidence("x", [one for one in seen if one is not None], raid="raid5")
    assert "raid-penalty-absent" in {one.rule for one in apply(evidence)}


MIX = {
    "block_mix": [
        {"block_bytes": 4096, "io_percent": 70},
        {"block_bytes": 1 << 20, "io_percent": 30},
    ]
}
RANDOM_4K = {"order": "random", "block_bytes": 4096}
SEQUENTIAL = {"order": "sequential", "block_bytes": 256 << 10}


@pytest.mark.parametrize(
    "more",
    [
        {"extensions": MIX},
        {"extensions": {"read_block_mix": MIX["block_mix"]}},
        {"access": {"random_percent": 50, "align_bytes": 4096, "interlocked": False}},
    ],
    ids=["sizes", "sizes of reads", "orders"],
)
def test_what_a_load_mixes_was_a_cache_with_hits_and_misses(more: dict[str, Any]) -> None:
    """70 % of 4 KiB and 30 % of 1 MiB were "random reads of 64 KiB ... look for a cache"."""
    result = fabricated(block_bytes=65_536, latency_ns=two(90, 1500, 0.3))
    assert "bimodal-latency" in rules(result)
    assert "bimodal-latency" not in rules(asked(result, **more))
    # What the other direction mixes, or an order of its own does not, says nothing of it.
    writes = {"write_block_mix": MIX["block_mix"]}
    assert "bimodal-latency" in rules(asked(result, extensions=writes))
    own = {**more.get("extensions", {}), "read_block_mix": [], "read_pattern": RANDOM_4K}
    assert "bimodal-latency" in rules(asked(result, **{**more, "extensions": own}))


@pytest.mark.parametrize(
    ("writes", "extensions", "words"),
    [
        (0, {}, "sequential reads of 64 KiB"),
        (30, {}, "sequential I/O with 30 % writes of 64 KiB"),
        (0, MIX, "sequential reads of 4 KiB to 1 MiB"),
        (0, {"read_pattern": RANDOM_4K}, "random reads of 4 KiB"),
        (100, {"read_pattern": RANDOM_4K}, "sequential writes of 64 KiB"),
        (0, {**MIX, "read_pattern": {"order": "random"}}, "random reads of 4 KiB to 1 MiB"),
        (0, {**MIX, "read_pattern": RANDOM_4K}, "random reads of 4 KiB"),
        (
            50,
            {"read_pattern": RANDOM_4K, "write_pattern": SEQUENTIAL},
            "random reads of 4 KiB and sequential writes of 256 KiB (50 % writes)",
        ),
    ],
)
def test_an_order_of_reads_alone_was_none_in_the_words(
    writes: int, extensions: dict[str, Any], words: str
) -> None:
    """--read-pattern=random,block=4K was "sequential reads of 64 KiB" in every rule."""
    result = fabricated(random=0, block_bytes=65_536, write=writes)
    assert load_of(asked(result, extensions=extensions)).words() == words


def test_an_order_and_a_size_of_reads_alone_count_in_the_numbers_of_a_run() -> None:
    result = fabricated(random=0, block_bytes=65_536, write=25)
    own = asked(result, extensions={"read_pattern": RANDOM_4K})
    found = asked_load(own.raw["request"])
    assert found.random_percent == 75
    assert found.block_bytes == round(0.75 * 4096 + 0.25 * 65_536)


@pytest.mark.parametrize(
    ("options", "threads", "depth"),
    [("-o2", 2, 2), ("-F3 -o2", 3, 4), ("-F3 -o2 -O5", 3, 5), ("-t3 -o2", 6, 2)],
)
def test_threads_that_share_targets_had_the_depth_of_one_target(
    options: str, threads: int, depth: int
) -> None:
    """``-F3 -o2`` keeps 12 I/Os on two targets in flight, and was listed as ``t3 o2``."""
    asked = asked_load(fathom.parse(f"-r {options} x y").to_dict())
    assert (asked.threads, asked.depth) == (threads, depth)
