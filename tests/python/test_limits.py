"""Limits on one run: ``fathom run --require 'p99<5ms'``."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import command
from fabricated import fabricated
from fathom.errors import InvalidRequestError
from fathom.gates import measured_cell
from fathom.gates.judged import Check
from fathom.limits import check_measured, judge_limits, parse_limit
from fathom.metrics import METRICS, metric_column
from fathom.store import Store

if TYPE_CHECKING:
    from pathlib import Path

LOAD = ("-c1M", "-b4K", "-r", "-d1", "-W0")


def judged(text: str, **run: Any) -> tuple[str, str]:  # noqa: ANN401 - Of ``fabricated``.
    (found,) = judge_limits(fabricated(**run), [parse_limit(text)])
    return found.decision, found.words


@pytest.mark.parametrize(
    ("text", "metric", "sign", "value"),
    [
        ("p99<5ms", "p99", "<", 5e6),
        (" read.mean <= 500us ", "read.mean", "<=", 5e5),
        ("iops>=10000", "iops", ">=", 1e4),
        ("write.iops>1.5IOPS", "write.iops", ">", 1.5),
        ("iops>50k", "iops", ">", 5e4),
        ("iops<1.5MIOPS", "iops", "<", 1.5e6),
        ("mib_per_s>100MiB/s", "mib_per_s", ">", 100.0),
        ("max<1.5s", "max", "<", 1.5e9),
    ],
)
def test_a_limit_is_read(text: str, metric: str, sign: str, value: float) -> None:
    found = parse_limit(text)
    assert (found.metric, found.sign, found.value) == (metric, sign, value)
    assert str(found) == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p9<5ms", "there is no metric 'p9': did you mean p99?"),
        ("iop>5", "did you mean iops?"),
        ("Read.p99<5ms", "did you mean read.p99?"),
        ("zzz<5ms", "there are iops, mib_per_s, mean"),
        ("p99<5", "the unit of p99 is one of ns, us, ms, s"),
        ("p99<5m", "the unit of p99 is one of"),
        ("iops>5ms", "the unit of iops is one of k, M, IOPS, or nothing"),
        ("p99", "is no limit such as 'p99<5ms'"),
        ("p99=5ms", "is no limit"),
        ("p99<-5ms", "is no limit"),
        ("iops>5%", "a percentage is a change"),
        ("mib_per_s>5k", "the unit of mib_per_s is one of MiB/s, or nothing"),
        ("p99<5ms,iops>1", "is no limit"),
        ("", "is no limit"),
        ("p99<\u0665ms", "is no limit"),
    ],
)
def test_what_is_no_limit_is_told_with_what_was_meant(
    text: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRequestError) as told:
        parse_limit(text)
    assert words in str(told.value)
    done = command("run", "--require", text, *LOAD, tmp_path / "x.dat")
    assert (done.returncode, words in done.stderr) == (3, True)
    # Told before anything is touched.
    assert [*tmp_path.glob("x.dat")] == []
    assert not os.path.exists(os.environ["FATHOM_STORE"])  # noqa: PTH110 - A word of the environment.


@pytest.mark.parametrize("metric", METRICS)
def test_a_limit_judges_the_figure_that_the_store_keeps(metric: str) -> None:
    """Of each metric: what is measured keeps the limit just beside it, and breaks it beyond."""
    with Store(None) as store:
        result = fabricated(rates=1000.0, latency_ns=2e6, write=40)
        run_id = store.runs.save(result, ["x.dat"])
        kept = store.runs.get(run_id).summary.columns[metric_column(metric)]
    unit = "" if metric.rpartition(".")[2] in ("iops", "mib_per_s") else "ns"
    for sign, factor, decision in (
        ("<", 1.001, "kept"),
        ("<", 0.999, "broken"),
        (">", 0.999, "kept"),
        (">", 1.001, "broken"),
    ):
        limit = parse_limit(f"{metric}{sign}{kept * factor:.6f}{unit}")
        (found,) = judge_limits(result, [limit])
        assert found.decision == decision
        assert found.measured == pytest.approx(kept)
        assert found.words.startswith(f"{limit}: {decision}: ")


def test_the_words_say_what_was_measured_against_which_limit() -> None:
    run = {"rates": 1000.0, "latency_ns": 2e6}
    assert judged("iops>=900", **run) == (
        "kept",
        "iops>=900: kept: 1,000 IOPS measured; the limit is at least 900 IOPS",
    )
    decision, words = judged("mean<1ms", **run)
    assert decision == "broken"
    assert words.endswith("measured; the limit is less than 1 ms")
    # What lies beyond by less than three digits show is not shown as if it were on the limit.
    said = "1,000 IOPS measured; the limit is more than 1,000.001 IOPS"
    assert said in judged("iops>1000.001", **run)[1]
    assert judged("iops>1000.001", **run)[0] == "broken"


@pytest.mark.parametrize(
    ("text", "measured", "words", "bound"),
    [
        ("mib_per_s>=150.95", 150.949219, "150.9 MiB/s", "at least 150.95 MiB/s"),
        ("iops>38643", 38643.0, "38,643 IOPS", "more than 38,643 IOPS"),
        ("iops>=50k", 49999.7, "49,999.7 IOPS", "at least 50,000 IOPS"),
        ("iops>1.5M", 1.5e6, "1,500,000 IOPS", "more than 1,500,000 IOPS"),
        ("mean<51.8us", 51_764.0, "51.76 us", "less than 51.8 us"),
        ("mean<=51.8us", 51_764.0, "51.8 us", "at most 51.8 us"),
        ("p99<112us", 111_600.0, "111.6 us", "less than 112 us"),
        ("p99<1500us", 1_499_999.0, "1.499999 ms", "less than 1,500 us"),
        ("mean<5.00ms", 85_300.0, "85.3 us", "less than 5.00 ms"),
    ],
)
def test_defect_24_a_limit_is_quoted_as_given_and_no_figure_is_rounded_over_it(
    text: str, measured: float, words: str, bound: str
) -> None:
    """It was "kept 112 us" of p99<112us, and "the limit is at least 151 MiB/s" of >=150.95."""
    limit = parse_limit(text)
    assert (limit.words(measured), limit.bound) == (words, bound)
    decision: Any = "kept" if limit.is_kept_by(measured) else "broken"
    assert measured_cell(Check(text, decision, "", limit.metric, measured)) == words


def test_what_the_run_does_not_tell_is_no_pass() -> None:
    run = {"rates": 1000.0, "latency_ns": 2e6}
    assert judged("write.iops>1", **run) == (
        "cannot tell",
        "write.iops>1: cannot tell: no such I/O completed in the measured time",
    )
    result = fabricated(rates=1000.0, latency_ns=2e6)
    raw = json.loads(json.dumps(result.raw))
    raw["time_spans"][0]["outcome"] = "interrupted"
    (found,) = judge_limits(fathom.Result.from_json(json.dumps(raw)), [parse_limit("iops>1")])
    assert (found.decision, found.measured) == ("cannot tell", None)
    assert "did not come to its end" in found.words


@pytest.mark.parametrize("write_percent", [0, 30])
def test_a_target_that_answered_nothing_broke_no_limit(write_percent: int) -> None:
    run = {"rates": 0.0, "write": write_percent}
    broken = "iops>1: broken: 0 IOPS measured; the limit is more than 1 IOPS"
    assert judged("iops>1", **run) == ("broken", broken)
    assert judged("mib_per_s>=1", **run)[0] == "broken"
    assert judged("read.iops>1", **run)[0] == "broken"
    # What no load asks for has no rate, and what did not come has no latency.
    decision = "broken" if write_percent else "cannot tell"
    assert judged("write.iops>1", **run)[0] == decision
    assert judged("p99<1ms", **run)[0] == "cannot tell"


def test_latencies_that_would_not_be_measured_are_refused_before_the_run(tmp_path: Path) -> None:
    done = command("run", "--require", "p99<5s", *LOAD, tmp_path / "x.dat")
    assert (done.returncode, "without -L: add it" in done.stderr) == (3, True)
    assert not (tmp_path / "x.dat").exists()
    check_measured([parse_limit("iops>1")], fathom.parse(["x.dat"]))


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (["mean<100s", "iops>0"], 0),
        (["mean<100s", "iops>1000000000"], 5),
        (["write.iops>0"], 7),
        (["write.iops>0", "max<1ns"], 5),
    ],
)
def test_the_command_ends_with_the_exit_code_of_the_worst(
    limits: list[str], code: int, tmp_path: Path
) -> None:
    words = [word for one in limits for word in ("--require", one)]
    done = command("run", *words, "--json", *LOAD, "-L", tmp_path / "x.dat")
    assert done.returncode == code, done.stderr
    # The standard output is the result alone, which is saved whatever the limits say.
    assert json.loads(done.stdout)["schema_version"]
    assert all(f"{one}: " in done.stderr for one in limits)
    assert len(json.loads(command("list", "--json").stdout)) == 1
    again = command("run", *words, "@1", cwd=tmp_path)
    assert again.returncode == code


def test_each_run_of_a_workload_has_to_keep_it(tmp_path: Path) -> None:
    folder = tmp_path / "workloads"
    folder.mkdir()
    done = command(
        "run", "--require", "iops>0", "--no-save", "sql-oltp-70", "-d1", "-W0", "-c8M",
        tmp_path / "x.dat",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "iops>0: kept: " in done.stdout
