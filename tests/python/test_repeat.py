"""Repeating runs, and comparing what was repeated: on made-up results, and on a real file."""

from __future__ import annotations

import copy
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import fathom
import numpy as np
import pytest
from commands import command
from fathom import experiments
from fathom.cli import main
from fathom.experiments import repeat as _repeat
from fathom.experiments.compare.saved import compare_runs, parse_condition, pilot_of
from fathom.experiments.repeat import RepeatPolicy, repeat, resume_repeat
from fathom.metrics import interval_series, metric_column
from fathom.runners import measure as _measure
from fathom.store import Store
from store_worker import RESULT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TEXT = json.dumps(dict(RESULT.raw))


def result_with(factor: float, **profile: object) -> fathom.Result:
    """Return the fixture's result at so many times its speed."""
    raw: dict[str, Any] = json.loads(TEXT)
    raw["time_spans"][0]["measured_ns"] = int(raw["time_spans"][0]["measured_ns"] / factor)
    raw["request"]["profile"]["time_spans"][0]["targets"][0] |= profile
    return fathom.Result.from_json(json.dumps(raw))


class Device:
    """Stands for the engine: each run is faster or slower by chance."""

    def __init__(self, spread: float, seed: int = 1) -> None:
        """Vary by this share."""
        self.runs = 0
        self._spread = spread
        self._random = np.random.default_rng(seed)

    def run(self, _arguments: Sequence[str], **_more: object) -> fathom.Result:
        """Return the next result."""
        self.runs += 1
        return result_with(1 + self._spread * self._random.standard_normal())


@pytest.mark.parametrize(("spread", "least", "most"), [(0.002, 10, 10), (0.015, 12, 150)])
def test_the_spread_of_the_pilot_decides_the_number_of_runs(
    store: Store, monkeypatch: pytest.MonkeyPatch, spread: float, least: int, most: int
) -> None:
    device = Device(spread, seed=2)
    monkeypatch.setattr(_measure, "run_kept", device.run)
    told: list[tuple[int, int | None]] = []
    found = repeat(store, ["x"], RepeatPolicy(most=150), on_run=lambda *one: told.append(one))
    assert least <= device.runs == len(found.run_ids) <= most
    assert found.is_precise
    assert found.metrics["iops"].estimate.relative_half_width <= 0.0105
    assert told[0] == (1, None)
    assert told[-1] == (device.runs, device.runs)
    experiment = store.experiments.get(found.experiment_id)
    assert (experiment.state, experiment.run_count) == ("complete", device.runs)
    assert experiment.outcome is not None
    assert experiment.outcome["is_precise"]
    assert found.steady is not None
    assert found.steady.is_steady


def test_it_ends_at_the_greatest_number_and_says_that_it_is_not_precise(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(0.2)
    monkeypatch.setattr(_measure, "run_kept", device.run)
    found = repeat(store, ["x"], RepeatPolicy(pilot=5, most=8))
    assert (device.runs, found.is_precise) == (8, False)


def test_an_outlier_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(0.01)
    regular = device.run

    def slow_once(arguments: Sequence[str], **more: object) -> fathom.Result:
        result = regular(arguments, **more)
        return result_with(0.5) if device.runs == 4 else result

    monkeypatch.setattr(_measure, "run_kept", slow_once)
    found = repeat(store, ["x"], RepeatPolicy(most=10))
    (outlier,) = found.metrics["iops"].outliers
    assert outlier.index == 3
    assert outlier.deviations is not None
    assert outlier.deviations < -10


def test_a_failure_ends_it_and_what_was_done_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Device(0.01)
    regular = device.run

    def fail_late(arguments: Sequence[str], **more: object) -> fathom.Result:
        result = regular(arguments, **more)
        if device.runs == 3:
            raise fathom.RunFailedError("the disk is gone", result)
        return result

    monkeypatch.setattr(_measure, "run_kept", fail_late)
    found = repeat(store, ["x"], RepeatPolicy())
    assert found.failure == "the disk is gone"
    experiment = store.experiments.get(found.experiment_id)
    assert (experiment.state, experiment.run_count) == ("failed", 3)
    assert len(found.run_ids) == 2


def test_a_run_that_an_event_ended_was_a_damaged_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``-yp`` ends one run of a repetition: "is damaged, or of another version (KeyError: 2)"."""
    device = Device(spread=0.001)

    def ended_at_3(*_any: object, **_more: object) -> fathom.Result:
        raw = json.loads(json.dumps(dict(device.run([]).raw)))
        if device.runs == 3:
            raw["request"]["profile"]["events"] = {"stop": "enough"}
            raw["time_spans"][0]["outcome"] = "interrupted"
        return fathom.Result.from_json(json.dumps(raw))

    monkeypatch.setattr(_measure, "run_kept", ended_at_3)
    policy = RepeatPolicy(pilot=10, most=10)
    found = repeat(store, ["-ypenough", "x.dat"], policy)
    assert found.failure == "the event enough (-yp) ended it before its time"
    assert [run.outcome for run in store.runs.list()] == ["interrupted", "complete", "complete"]
    resumed = resume_repeat(store, found.experiment_id)
    assert resumed.failure is None
    assert len(resumed.run_ids) == 10
    assert 3 not in resumed.run_ids


@pytest.mark.parametrize(
    "wrong",
    [
        {"pilot": 1},
        {"pilot": 9, "most": 8},
        {"confidence": 95},
        {"relative_half_width": 0},
        {"metric": "p98"},
        {"metric": "both.p99"},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"pilot|confidence|precision|metric"):
        RepeatPolicy(**wrong)


def test_a_range_from_2_to_1_was_named() -> None:
    with pytest.raises(ValueError, match="there are at least 2 runs, not at most 1"):
        RepeatPolicy(pilot=2, most=1)
    with pytest.raises(ValueError, match="the pilot has 2 to 5 runs, not 6"):
        RepeatPolicy(pilot=6, most=5)


def repeated(store: Store, factor: float, seed: int, **profile: object) -> str:
    """Save ten runs as an experiment, and return its reference."""
    random = np.random.default_rng(seed)
    experiment_id = store.experiments.begin("repeat", "made up", {"pilot": 10})
    for _ in range(10):
        speed = factor * (1 + 0.01 * random.standard_normal())
        store.runs.save(result_with(speed, **profile), ["x"], experiment_id=experiment_id)
    return f"e{experiment_id}"


def test_a_run_that_failed_before_a_repetition_went_on_took_its_pilot_away(store: Store) -> None:
    """Its runs were then compared as if nobody had planned their number by their spread."""
    reference = repeated(store, 1, 1)
    number = int(reference[1:])
    for seed in range(4):
        store.runs.save(result_with(1 + seed / 50), ["x"], experiment_id=number)
    runs = [store.runs.get(run_id) for run_id in store.baselines.run_ids(reference)]
    assert pilot_of(store, runs) == 10
    store.runs.save(result_with(1), ["x"], failures=["it was away"], experiment_id=number)
    assert pilot_of(store, runs) == 10
    assert pilot_of(store, runs[:12]) is None


def test_equals_are_equal_and_a_slowdown_is_found(store: Store) -> None:
    a, same, slow = (repeated(store, *one) for one in ((1, 1), (1, 2), (0.95, 3)))
    found = compare_runs(store, a, same)
    assert not found.metrics["iops"].is_different
    assert (found.worse(), found.differences) == ([], [])
    found = compare_runs(store, a, slow)
    assert found.metrics["iops"].change == pytest.approx(-0.05, abs=0.015)
    assert found.metrics["iops"].low < -0.05 < found.metrics["iops"].high
    assert found.worse() == ["iops", "mib_per_s"]
    # The latencies of all these runs are the same, which is no difference.
    assert found.metrics["p99"].p_value == 1
    assert found.latency is not None
    assert found.latency.p_value == 1


def test_a_single_run_is_judged_by_its_intervals_or_not_at_all(store: Store) -> None:
    a, b = (str(store.runs.save(result_with(one), ["x"])) for one in (1, 1))
    found = compare_runs(store, a, b)
    series = interval_series(RESULT, "iops")
    if series is None or series.size < 8:
        assert "repeat it" in found.missing["iops"]
    assert "repeat it" in found.missing["p99"]


def test_intervals_are_those_of_the_result() -> None:
    series = interval_series(RESULT, "iops")
    assert series is not None
    span = RESULT.raw["time_spans"][0]
    seconds = span["interval_ns"] / 1e9
    assert series.size == span["measured_ns"] // span["interval_ns"]
    # The last one may be left out, being shorter.
    assert 0.8 * RESULT.total.ios <= series.sum() * seconds <= RESULT.total.ios
    parts = [interval_series(RESULT, f"{kind}.iops") for kind in ("read", "write")]
    assert parts[0] is not None
    assert parts[1] is not None
    assert np.allclose(parts[0] + parts[1], series)
    assert interval_series(RESULT, "p99") is None
    latency = RESULT.total.latency
    mean = interval_series(RESULT, "mean")
    assert latency is not None
    assert mean is not None
    assert mean.mean() == pytest.approx(latency.mean_ns, rel=0.5)
    assert metric_column("read.p99") == "read_latency_p99_ns"


def test_what_differs_besides_is_told(store: Store) -> None:
    a = repeated(store, 1, 1)
    b = repeated(store, 1, 2, block_bytes=65536)
    (sentence,) = compare_runs(store, a, b).differences
    block = RESULT.raw["request"]["profile"]["time_spans"][0]["targets"][0]["block_bytes"]
    assert sentence == f"The load differs: block size (bytes) is {block} in A and 65536 in B."
    raw: dict[str, Any] = json.loads(TEXT)
    raw["host"]["kernel"] = "Linux 9.9"
    store.runs.save(fathom.Result.from_json(json.dumps(raw)), ["x"], label="other")
    (other,) = store.runs.list(label="other")
    (sentence,) = compare_runs(store, a, str(other.id)).differences
    assert sentence.startswith("The machine differs: kernel is Linux")
    assert sentence.endswith("in A and Linux 9.9 in B.")


def test_a_time_span_that_one_side_alone_has_differed_in_each_of_its_settings(
    store: Store,
) -> None:
    raw: dict[str, Any] = json.loads(TEXT)
    spans = raw["request"]["profile"]["time_spans"]
    spans += [copy.deepcopy(spans[0])]
    spans[0]["targets"] += copy.deepcopy(spans[0]["targets"])
    raw["time_spans"] += copy.deepcopy(raw["time_spans"])
    a = repeated(store, 1, 1)
    store.runs.save(fathom.Result.from_json(json.dumps(raw)), ["x"], label="two")
    (two,) = store.runs.list(label="two")
    for sides, side in (((a, str(two.id)), "B"), ((str(two.id), a), "A")):
        differences = compare_runs(store, *sides).differences
        assert (
            f"The load differs: time span 1, target 2 is in {side} alone; "
            f"time span 2 is in {side} alone."
        ) in differences


def with_options(store: Store, **options: object) -> str:
    """Save a run with these options, and return its number."""
    raw: dict[str, Any] = json.loads(TEXT)
    raw["request"]["options"] |= {"engine": None, **options}
    return str(store.runs.save(fathom.Result.from_json(json.dumps(raw)), ["x"]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"total_iops": 500}, "requested rate of all threads together (IOPS) is not given in A"),
        ({"skew": {"zipf": {"theta_milli": 1100}}}, "skew is not given in A and zipf:1.1 in B"),
        ({"engine": "sync"}, "engine is not given in A and sync in B"),
    ],
)
def test_a_paced_or_skewed_run_was_compared_as_the_same_load(
    store: Store, options: dict[str, object], words: str
) -> None:
    plain, other = with_options(store), with_options(store, **options)
    found = compare_runs(store, plain, other)
    assert not found.is_of_one_load
    assert found.differences[0].startswith(f"The load differs: {words}")


def test_what_is_no_load_among_the_options_keeps_no_runs_from_being_compared(store: Store) -> None:
    plain = with_options(store)
    other = with_options(store, remove_created=True, verify_journal="x", interval_latency=True)
    raw = json.loads(TEXT)
    raw["request"]["options"] |= {"engine": None, "setting_of_a_later_version": None}
    raw["request"]["profile"]["time_spans"][0] |= {"faults": {"on_error": None}, "later": False}
    later = str(store.runs.save(fathom.Result.from_json(json.dumps(raw)), ["x"]))
    assert compare_runs(store, f"{plain},{later}", other).differences == []


def test_a_host_with_load_in_its_name_had_another_load(store: Store) -> None:
    ids = []
    for name in ("loadgen1", "loadgen2"):
        raw: dict[str, Any] = json.loads(TEXT)
        raw["host"]["name"] = name
        ids.append(str(store.runs.save(fathom.Result.from_json(json.dumps(raw)), ["x"])))
    found = compare_runs(store, *ids)
    assert found.differences == ["The machine differs: host is loadgen1 in A and loadgen2 in B."]
    assert found.is_of_one_load


def made(store: Store, factors: Sequence[float]) -> list[int]:
    """Save a run at each speed, a second after the other."""
    ids = []
    for number, factor in enumerate(factors):
        raw = dict(result_with(factor).raw)
        raw["started_at_unix_s"] = 1_000_000 + number
        ids.append(store.runs.save(fathom.Result.from_json(json.dumps(raw)), ["x"]))
    return ids


def listed(ids: Sequence[int]) -> str:
    """Return a reference to these runs."""
    return ",".join(map(str, ids))


def test_runs_interleaved_are_compared_pair_by_pair(store: Store) -> None:
    # The machine slows down by a fifth meanwhile, and B is 3 % slower.
    random = np.random.default_rng(4)
    drift = np.linspace(1, 0.8, 20) * (1 + 0.003 * random.standard_normal(20))
    # In the order ABBA, so that the drift hits both alike.
    is_b = np.arange(20) % 4 % 3 > 0
    drift[is_b] *= 0.97
    ids = made(store, [*drift])
    a, b = ([one for one, of_b in zip(ids, is_b, strict=True) if of_b == side] for side in (0, 1))
    paired = compare_runs(store, listed(a), listed(b))
    assert paired.metrics["iops"].in_turns
    assert paired.metrics["iops"].is_different
    assert paired.metrics["iops"].low < -0.03 < paired.metrics["iops"].high
    # The order of the list is not that of time.
    again = compare_runs(store, listed(a[::-1]), listed(b))
    assert again.metrics["iops"] == paired.metrics["iops"]
    blocks = compare_runs(store, listed(ids[:10]), listed(ids[10:]))
    assert not blocks.metrics["iops"].in_turns


def test_a_busy_machine_is_no_slowdown_and_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A wave of load over 24 runs, of which A sees more of the one side and B of the other.
    wave = 1 + 0.1 * np.sin(np.linspace(0.5, 0.5 + 4 * np.pi, 24))
    wave *= 1 + 0.004 * np.random.default_rng(6).standard_normal(24)
    with Store(os.environ["FATHOM_STORE"]) as store:
        ids = made(store, [*wave])
        found = compare_runs(store, listed(ids[:12]), listed(ids[12:]))
    assert not found.metrics["iops"].is_different
    assert found.metrics["iops"].resemblance > 0.5
    monkeypatch.setattr(sys, "argv", ["fathom", "compare", listed(ids[:12]), listed(ids[12:])])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().out
    assert "Neighbouring runs resemble each other" in shown
    assert "A and B were not interleaved" in shown


def test_conditions_are_a_family_of_their_own(store: Store) -> None:
    a, slow = repeated(store, 1, 1), repeated(store, 0.95, 2)
    conditions = [parse_condition(one) for one in ("iops<-2%", "iops<-20%", "p99>+1%")]
    found = compare_runs(store, a, slow, metrics=["iops", "mean"], conditions=conditions)
    assert [one.condition for one in found.verdicts] == ["iops<-2%", "iops<-20%", "p99>+1%"]
    assert [one.is_met for one in found.verdicts] == [True, False, False]
    assert found.verdicts[0].change == pytest.approx(-0.05, abs=0.015)
    unknown = compare_runs(store, "1", "2", conditions=conditions[2:]).verdicts[0]
    assert unknown.why_not is not None
    assert "repeat it" in unknown.why_not


def test_conditions_are_read() -> None:
    condition = parse_condition("p99 > +5%")
    assert (condition.metric, condition.is_above, condition.limit) == ("p99", True, 0.05)
    assert parse_condition("read.iops<-2.5%").limit == -0.025
    for wrong in ("p99", "p99>5", "p99=5%", "p98>5%", ">5%"):
        with pytest.raises(ValueError, match=r"no condition|no metric"):
            parse_condition(wrong)


def test_the_exit_code_tells_a_slowdown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compare(*args: str) -> tuple[object, str, str]:
        """Run ``fathom compare`` in this process, which is faster; return what it ends with."""
        monkeypatch.setattr(sys, "argv", ["fathom", "compare", *args])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    with Store(os.environ["FATHOM_STORE"]) as store:
        a, slow = repeated(store, 1, 1), repeated(store, 0.9, 2)
        other = repeated(store, 1, 3, block_bytes=65536)
        store.baselines.set("golden", a)
    assert compare("golden", slow)[0] == 0
    code, out, err = compare("golden", slow, "--fail-if", "iops<-5%")
    assert code == 5
    assert err.startswith("error: iops<-5%: iops changed by -")
    assert "worse" in out
    # A change that is there, but within what is allowed.
    assert compare("golden", slow, "--fail-if", "iops<-15%")[0] == 0
    code, _out, err = compare("golden", other)
    assert (code, "--any-load" in err) == (3, True)
    assert compare("golden", other, "--any-load")[0] == 0
    assert compare("golden", slow, "--fail-if", "p98>1%")[0] == 3
    assert compare("golden", slow, "--verdict", "iops")[0] == 5
    assert compare(slow, "golden", "--verdict", "iops", "--metric", "mean")[0] == 8
    assert compare("golden", slow, "--verdict", "p98")[0] == 3
    assert compare("golden", "e999")[0] == 3
    whole = json.loads(compare("golden", slow, "--json")[1])
    assert whole["metrics"]["iops"]["a_runs"] == 10


def test_a_real_file_is_repeated_and_compared(tmp_path: Path) -> None:
    args = ["-c1M", "-b4K", "-r", "-w0", "-d1", "-W0", "-L", str(tmp_path / "scratch.dat")]
    done = command("repeat", "--pilot", "2", "--most", "2", *args)
    assert done.returncode == 0
    assert "2 runs" in done.stdout
    assert "Saved as experiment e1" in done.stdout
    done = command("compare", "e1", "1")
    assert done.returncode == 0
    assert "single run" in done.stdout or "cannot be compared" in done.stdout
    assert command("repeat", "--pilot", "1", *args).returncode == 3


def test_the_public_names_are_these() -> None:
    assert experiments.__all__ == sorted(experiments.__all__)
    assert _repeat.TRACKED == ("iops", "mib_per_s", "mean", "p99", "p999")
