"""``fathom trend``: changes of a series are found, and chance makes none."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import command
from fabricated import fabricated
from fathom._provenance import target_name
from fathom.cli import main
from fathom.cli.commands.trend import _runs_words
from fathom.errors import InvalidRequestError
from fathom.experiments.compare.saved import compare_runs
from fathom.stats import find_change_points
from fathom.store import Store
from fathom.trends import find_trend, trend_figure
from simulated import autoregressive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from fathom._claims import Claim
    from fathom.stats.floats import FloatArray

    Noise = Callable[[np.random.Generator, int], FloatArray]

RUNS, SHIFT = 500, 0.05
DAY_S = 86400.0


def _stalls(random: np.random.Generator, count: int) -> FloatArray:
    return 0.01 * random.standard_normal(count) - 0.2 * (random.random(count) < 0.03)


NOISES: dict[str, Noise] = {
    "independent": lambda random, count: 0.015 * random.standard_normal(count),
    "memory": lambda random, count: 0.015 * autoregressive(random, 0.5, (count,)),
    "lognormal": lambda random, count: 0.02 * np.exp(0.5 * random.standard_normal(count)),
    "heavy tail": lambda random, count: 0.01 * random.standard_t(3, count),
    "stalls": _stalls,
}


@pytest.mark.parametrize("noise", NOISES)
def test_a_history_without_changes_has_none_in_95_percent(noise: str) -> None:
    random = np.random.default_rng(22)
    histories = 60
    false = sum(
        bool(find_change_points(np.exp(NOISES[noise](random, RUNS)))) for _ in range(histories)
    )
    assert false / histories <= 0.05


@pytest.mark.parametrize("noise", NOISES)
def test_of_three_shifts_of_5_percent_in_500_runs_95_percent_are_found(noise: str) -> None:
    random = np.random.default_rng(23)
    histories, near = 12, 10
    found = false = 0
    for _ in range(histories):
        ends = np.sort(random.choice(np.arange(1, 10), 3, replace=False)) * 50
        logs = NOISES[noise](random, RUNS)
        for end in ends:
            logs[end:] += random.choice([-SHIFT, SHIFT])
        told = np.array([one.index for one in find_change_points(np.exp(logs))])
        distances = np.abs(told[:, None] - ends[None, :])
        found += int((distances.min(axis=0) <= near).sum()) if told.size else 0
        false += bool((distances.min(axis=1) > near).any()) if told.size else False
    assert found / (3 * histories) >= 0.95
    assert false <= 1


def test_one_run_that_stands_far_apart_is_no_change_and_hides_none() -> None:
    random = np.random.default_rng(24)
    logs = 0.01 * random.standard_normal(200)
    logs[100:] -= SHIFT
    logs[40] = -5.0
    (point,) = find_change_points(np.exp(logs))
    assert abs(point.index - 100) <= 2
    assert point.p_value < 0.005


def test_a_drop_in_the_newest_five_runs_is_found() -> None:
    logs = 0.01 * np.random.default_rng(25).standard_normal(300)
    logs[-5:] -= 0.2
    assert [one.index for one in find_change_points(np.exp(logs))] == [295]


def test_equal_values_and_few_have_no_change() -> None:
    assert find_change_points(np.full(100, 7.0)) == ()
    assert find_change_points([1.0, 2.0, 1.0]) == ()
    with pytest.raises(ValueError, match="above 0"):
        find_change_points(np.arange(20.0))
    # Two levels without any noise.
    (point,) = find_change_points(np.repeat([100.0, 95.0], 20))
    assert point.index == 20


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def save(store: Store, rates: Iterable[float], *, depth: int = 1, path: str = "x.dat") -> list[int]:
    """Save a run a day, and return their numbers."""
    ids = [
        store.runs.save(
            fabricated(rates=float(rate), latency_ns=200.0, depth=depth, path=path),
            [f"-o{depth}", path],
            label="nightly",
        )
        for rate in rates
    ]
    with closing(sqlite3.connect(store.name)) as connection, connection:
        connection.execute("UPDATE runs SET started_at_unix_s = 1.7e9 + id * ?", (DAY_S,))
    connection.close()
    return ids


def history(seed: int = 1, change: float = -0.1) -> FloatArray:
    random = np.random.default_rng(seed)
    rates = 10_000 * np.exp(0.01 * random.standard_normal(60))
    rates[30:] *= 1 + change
    return np.asarray(rates)


def test_a_series_is_of_one_load_on_one_target(kept: Store) -> None:
    own = save(kept, [1000, 1001])
    save(kept, [1000], depth=8)
    save(kept, [1000], path="y.dat")
    kept.runs.save(fabricated(path="x.dat"), ["-o1", "--rate=500", "x.dat"])
    kept.runs.save(fabricated(path="x.dat"), ["-o1", "x.dat"], failures=["it broke"])
    again = kept.runs.save(fabricated(path="x.dat"), ["-o1", "--json=r.json", "x.dat"])
    assert {run.id for run in kept.runs.series(own[0])} == {again, *own}
    assert len(kept.runs.series(own[0], limit=2)) == 2
    listed = kept.runs.newest_of_each_series(limit=10)
    assert sorted(count for _run, count in listed) == [1, 1, 1, 3]


def test_one_file_under_several_names_is_one_series(
    kept: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """./x.dat, its absolute path, a link and a hard link were four series."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "x.dat"
    file.write_bytes(bytes(4096))
    (tmp_path / "symbolic.dat").symlink_to(file)
    (tmp_path / "folder").symlink_to(tmp_path)
    names = [str(file), "./x.dat", "x.dat", "symbolic.dat", f"{tmp_path}/folder/x.dat"]
    ids = [one for name in names for one in save(kept, [1000], path=name)]
    (tmp_path / "hard.dat").hardlink_to(file)
    ids += save(kept, [1000], path=str(tmp_path / "hard.dat"))
    (tmp_path / "other.dat").write_bytes(bytes(4096))
    save(kept, [1000], path="other.dat")
    assert {run.id for run in kept.runs.series(ids[0])} == {*ids}
    monkeypatch.setattr(sys, "argv", ["fathom", "trend", str(ids[0])])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    told = " ".join(capsys.readouterr().out.split())
    assert "One target has several names:" in told
    assert "symbolic.dat, " in told


@pytest.mark.parametrize("standing", ["", "elsewhere"])
@pytest.mark.parametrize("first", ["x.dat", "./x.dat", "symbolic.dat", "{}/symbolic.dat"])
def test_a_hard_link_of_what_was_named_from_its_folder_was_another_target(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, standing: str
) -> None:
    """Only absolute names of earlier runs were looked at, and taken as they were typed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "x.dat").write_bytes(bytes(4096))
    (tmp_path / "symbolic.dat").symlink_to("x.dat")
    ids = save(kept, [1000], path=first.format(tmp_path))
    (tmp_path / "hard.dat").hardlink_to(tmp_path / "x.dat")
    monkeypatch.chdir(tmp_path / standing)
    ids += save(kept, [1000], path=str(tmp_path / "hard.dat"))
    ids += save(kept, [1000], path=str(tmp_path / "x.dat"))
    assert {run.id for run in kept.runs.series(ids[0])} == {*ids}


def test_a_name_that_leads_elsewhere_today_is_another_target(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.dat").write_bytes(bytes(4096))
    monkeypatch.chdir(tmp_path / "a")
    ids = save(kept, [1000], path="x.dat")
    monkeypatch.chdir(tmp_path / "b")
    (tmp_path / "b/hard.dat").hardlink_to(tmp_path / "b/x.dat")
    save(kept, [1000], path="hard.dat")
    assert [run.id for run in kept.runs.series(ids[0])] == ids


@pytest.mark.parametrize("other", ["symbolic.dat", "hard.dat", "copy.dat"])
def test_a_comparison_says_both_names_of_one_target(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.dat").write_bytes(bytes(4096))
    (tmp_path / "symbolic.dat").symlink_to("x.dat")
    (tmp_path / "copy.dat").write_bytes(bytes(4096))
    a = save(kept, [1000, 1001, 1002])
    (tmp_path / "hard.dat").hardlink_to(tmp_path / "x.dat")
    b = save(kept, [1000, 1001, 1002], path=other)
    found = compare_runs(kept, ",".join(map(str, a)), ",".join(map(str, b)))
    words = f"A and B are of one target, which is called x.dat in A and {other} in B."
    assert ([one.text for one in found.claims].count(words) == 1) is (other != "copy.dat")
    assert found.is_of_one_load


def test_relative_names_in_two_folders_are_two_files(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        (tmp_path / name / "x.dat").write_bytes(bytes(4096))
        ids += save(kept, [1000])
    assert [run.id for run in kept.runs.series(ids[0])] == ids[:1]


def test_a_file_of_a_folder_that_is_mounted_twice_has_one_name(tmp_path: Path) -> None:
    whole, bound = tmp_path / "whole disk", tmp_path / "bound"
    (whole / "sub").mkdir(parents=True)
    bound.mkdir()
    (whole / "sub" / "x.dat").write_bytes(bytes(4096))
    # What a bind mount shows is the same file; a hard link is it here, without root.
    (bound / "x.dat").hardlink_to(whole / "sub" / "x.dat")
    (tmp_path / "self").mkdir()
    escaped = str(whole).replace(" ", r"\040")
    lines = (
        "1 0 8:9 / / rw - ext4 /dev/a rw",
        f"2 1 8:1 / {escaped} rw - ext4 /dev/b rw",
        f"3 1 8:1 /sub {bound} rw - ext4 /dev/b rw",
    )
    (tmp_path / "self" / "mountinfo").write_text("\n".join(lines))
    wanted = str(whole / "sub" / "x.dat")
    assert target_name(str(bound / "x.dat"), proc=tmp_path) == wanted
    assert target_name(wanted, proc=tmp_path) == wanted
    assert target_name("nbd://host/disk", proc=tmp_path) == "nbd://host/disk"
    assert target_name("/dev/null", proc=tmp_path) == "/dev/null"


def test_a_trend_tells_when_by_how_much_and_what_changed_with_it(kept: Store) -> None:
    ids = save(kept, history())
    with closing(sqlite3.connect(kept.name)) as connection, connection:
        connection.execute("UPDATE provenances SET kernel = 'Linux 6.6' WHERE run_id > 30")
    connection.close()
    found = find_trend(kept, str(ids[0]))
    assert [one.first for one in found.levels] == [0, 30]
    last = found.levels[1]
    assert last.low is not None
    assert last.high is not None
    assert last.low < -0.1 < last.high
    assert found.outcome == last.outcome == "worse"
    (difference,) = last.differences
    assert difference == "the kernel from Linux 6.1 to Linux 6.6"
    change = next(one for one in found.claims if one.key == "change")
    assert "between run 30 and run 31 (2023-12-15), IOPS -" in change.text
    assert "with it changed the kernel from" in change.text
    assert [one.run_id for one in change.evidence] == [30, 31]
    assert find_trend(kept, str(ids[0]), metric="mean").outcome == "equal"


def test_findings_stand_in_the_claims_of_a_trend(kept: Store) -> None:
    words = "9 reads went through the page cache, which held 98.0 % of the 4 MiB."
    for rate in history():
        result = fabricated(
            rates=float(rate),
            latency_ns=200.0,
            caching="cached",
            warnings=[("page_cache", words)],
        )
        kept.runs.save(result, ["x.dat"])
    found = find_trend(kept, "1")
    assert found.claims[0].text.startswith("No verdict on a device")
    assert all("page-cache" in one.forbidden_by for one in found.claims)


def test_a_baseline_is_a_band_with_a_verdict(kept: Store) -> None:
    save(kept, history())
    found = find_trend(kept, "1", baseline=",".join(map(str, range(1, 13))))
    band = found.band
    assert band is not None
    assert band.low < 10_000 < band.high
    assert band.outcome == found.outcome == "worse"
    # By 1 % of noise, all runs of the new level are outside, and hardly one of the old.
    assert 28 <= len(band.outside) <= 33
    other = save(kept, [1000], depth=8)
    with pytest.raises(InvalidRequestError, match="is of this series"):
        find_trend(kept, "1", baseline=str(other[0]))
    with pytest.raises(InvalidRequestError, match=r"write\.iops: it does none"):
        find_trend(kept, "1", metric="write.iops")


def test_few_runs_say_so(kept: Store) -> None:
    save(kept, [1000, 1001, 1002])
    found = find_trend(kept, "1")
    assert found.outcome == "cannot tell"
    assert found.claims[0].text.startswith("3 runs are too few to tell a change of IOPS")


def test_the_picture_has_all_runs_levels_and_changes(kept: Store) -> None:
    save(kept, history())
    figure = trend_figure(find_trend(kept, "1", baseline="1,2,3,4,5"))
    layers = figure.spec["layer"]
    assert len(figure.spec["data"]["values"]) == len(figure.table.rows) == 60
    assert layers[0]["mark"]["type"] == "rect"
    assert [len(one["data"]["values"]) for one in layers[2:]] == [2, 1]


def test_the_command_lists_shows_draws_and_alerts(kept: Store, tmp_path: Path) -> None:
    save(kept, history())
    listed = json.loads(command("trend", "--json").stdout)
    assert [(one["newest_run"], one["runs"]) for one in listed] == [(60, 60)]
    done = command("trend", "60", "-o", "t.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "t.svg\n")
    assert done.stdout.startswith("IOPS changed once in 60 runs; at last between run 30 and run 31")
    assert b"<svg" in (tmp_path / "t.svg").read_bytes()
    assert command("trend", "60", "--alert").returncode == 5
    assert command("trend", "60", "--alert", "--metric", "mean").returncode == 0
    assert command("trend", "60", "--alert", "--limit", "3").returncode == 7
    told = json.loads(command("trend", "60", "--baseline", "1,2,3", "--json").stdout)
    assert (told["outcome"], len(told["runs"]), len(told["levels"])) == ("worse", 60, 2)
    # Three runs tell nothing, but the newest level is worse than the one before.
    assert told["band"]["outcome"] == "cannot tell"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["99"], "is no run"),
        (["1", "--metric", "p98"], "there is no metric 'p98'"),
        (["1", "-o", "x.gif"], "end the name with"),
        (["1", "--baseline", "no"], "is no run"),
        (["1", "--metric", "write.iops"], "it does none of these I/Os"),
        # What is said of one series is not swallowed where all of them are listed.
        (["--alert"], "--alert is for one series"),
        (["--metric", "p99"], "--metric is for one series"),
        (["-o", "x.svg"], "--output is for one series"),
        (["--baseline", "1"], "--baseline is for one series"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], told: str, kept: Store) -> None:
    save(kept, [1000])
    done = command("trend", *words)
    assert (done.returncode, told in done.stderr) == (3, True)


def test_figures_of_a_trend_have_their_unit_in_the_head_and_are_numbers(kept: Store) -> None:
    save(kept, history())
    heads = {"iops": "IOPS", "mib_per_s": "MiB/s", "p999": "p99.9 ms", "read.mean": "read mean ms"}
    for metric, head in heads.items():
        done = command("trend", "60", "--metric", metric, "--format", "json")
        (table,) = json.loads(done.stdout)
        assert table["columns"] == ["since", "runs", "number", head, "change %", "outcome"]
        assert all(isinstance(row[head], int | float) for row in table["rows"])
    row = json.loads(command("trend", "60", "--format", "json").stdout)[0]["rows"][1]
    assert isinstance(row["change %"], float)
    assert "1 run is too few" in command("trend", "60", "--limit", "1").stdout


def test_the_axis_of_one_run_had_the_same_number_at_each_tick(kept: Store) -> None:
    result = fabricated(rates=1000.0, latency_ns=200.0, path="alone.dat")
    number = kept.runs.save(result, ["alone.dat"])
    drawn = trend_figure(find_trend(kept, str(number)))
    assert "does not begin at 0" not in drawn.caption
    assert '"zero": true' in json.dumps(drawn.views[0].spec)


def test_defect_25_runs_of_other_series_between_are_none_of_a_level() -> None:
    """Of two runs it was said "1 to 16"."""
    found = {
        _runs_words(ids): ids
        for ids in ([7], [1, 2], [1, 2, 3, 4], [1, 16], [1, 5, 16], [1, 2, 5, 9, 16])
    }
    assert [*found] == ["7", "1 and 2", "1 to 4", "1 and 16", "1, 5 and 16", "5 of 1 to 16"]


def test_defect_11_a_level_says_which_mean_of_its_runs_it_is(kept: Store) -> None:
    """It was 50,346 IOPS beside the 50,558 of repeat, without a word."""
    save(kept, [1000.0, 4000.0])
    found = find_trend(kept, "1")
    assert found.levels[0].mean == pytest.approx(2000)
    assert "the geometric mean of its runs" in found.claims[-1].text
    shown = " ".join(command("trend", "1").stdout.split())
    assert found.claims[-1].text in shown


def save_doubted(store: Store, rates: Iterable[float]) -> None:
    """Save runs that no device answered."""
    words = "Of 834,436 reads, 7 reached vda."
    for rate in rates:
        made = fabricated(
            rates=float(rate), latency_ns=200.0, path="x.dat", warnings=[("not_the_device", words)]
        )
        store.runs.save(made, ["x.dat"])


def claim_of(store: Store, baseline: str) -> Claim:
    found = find_trend(store, "1", baseline=baseline)
    return next(one for one in found.claims if one.key == "baseline")


def test_a_baseline_was_judged_where_no_device_answered(kept: Store) -> None:
    """Beside *No verdict on a device* stood that the newest level is worse, without evidence."""
    save_doubted(kept, history()[:12])
    save(kept, history()[12:])
    told = claim_of(kept, ",".join(map(str, range(1, 13))))
    assert told.text.startswith("Against 1,2,3,4,5,6,7,8,9,10,11,12, ")
    assert "newest level" not in told.text
    assert "outside of its band" in told.text
    assert "not-the-device" in told.forbidden_by
    assert [one.run_id for one in told.evidence] == [*range(1, 13), 60]


@pytest.mark.parametrize("runs", [4, 20])
def test_a_headline_without_changes_lost_its_end(kept: Store, runs: int) -> None:
    """It was "(certain). IOPS." where 20 equal runs were of no device: the colon was cut at."""
    save_doubted(kept, [1000.0] * runs)
    few = "4 runs are too few to tell a change of IOPS: it takes 10."
    end = few if runs == 4 else "IOPS: no change is shown in 20 runs."
    assert find_trend(kept, "1").claims[0].text.endswith(f"(certain). {end}")


def test_no_change_was_said_beside_a_newest_level_that_is_worse(kept: Store) -> None:
    """The headline, which an alert sends, had nothing of why it alerts."""
    # The best are spread over the series, so that it has no change; the baseline is made of them.
    best = range(0, 20, 3)
    rates = 1000 * np.exp(0.005 * np.random.default_rng(26).standard_normal(20))
    rates[best] *= 1.1
    save(kept, rates)
    baseline = ",".join(str(at + 1) for at in best)
    found = find_trend(kept, "1", baseline=baseline)
    assert (len(found.levels), found.outcome) == (1, "worse")
    head = found.claims[0]
    assert head.text == (
        f"IOPS: no change is shown in 20 runs, though against {baseline} the newest level is worse."
    )
    assert {one.run_id for one in head.evidence} >= {int(one) + 1 for one in best}
    assert find_trend(kept, "1").claims[0].text == "IOPS: no change is shown in 20 runs."


def test_the_headline_of_a_rise_after_a_fall_was_the_opposite_of_its_alert(kept: Store) -> None:
    """It said *better* in a mail that was sent because the newest level is worse."""
    noise = np.exp(0.005 * np.random.default_rng(26).standard_normal(36))
    save(kept, noise * np.repeat([1000.0, 700.0, 800.0], 12))
    baseline = ",".join(map(str, range(1, 13)))
    found = find_trend(kept, "1", baseline=baseline)
    assert (len(found.levels), found.outcome) == (3, "worse")
    head = found.claims[0]
    assert head.text.endswith(f": better, though against {baseline} the newest level is worse.")
    assert {one.run_id for one in head.evidence} >= {*range(1, 13), 24, 25, 36}


@pytest.mark.parametrize(
    ("runs", "why"), [(1, "1 run has no spread"), (5, "most runs do not differ from their level")]
)
def test_runs_that_are_equal_were_outside_of_their_band(kept: Store, runs: int, why: str) -> None:
    """By the rounding of a logarithm "1 of 1 runs are outside of its band"."""
    save(kept, [1234.0] * runs)
    baseline = ",".join(map(str, range(1, runs + 1)))
    found = find_trend(kept, "1", baseline=baseline)
    assert found.band is not None
    assert (found.band.outside, found.band.has_spread) == ((), False)
    assert claim_of(kept, baseline).text.endswith(f"is equal; there is no band, as {why}.")
    drawn = trend_figure(found)
    assert "grey band" not in drawn.caption
    assert [one["mark"]["type"] for one in drawn.spec["layer"]] == ["point", "rule"]
