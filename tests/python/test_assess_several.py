"""Assessing several targets side by side, on simulated storage with known truths."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom.cli.views.assess import show_assessment
from fathom.experiments.assess import EFFORTS, assess
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.experiments.assess import Assessment

QUICK = replace(EFFORTS["quick"], size_bytes=64 << 20)
# What a comparison by hand of three such targets found with one load (8K, half of it writes, 8
# outstanding): 246.8, 49,505 and 3,552 I/Os a second, at 32.4, 0.16 and 2.25 ms. Here it is true.
# At 120 MiB/s the first would give as many I/Os of 512K as of 4K, which is how a limit looks.
SATA = Truth(servers=8, read_us=32_400.0, write_us=32_400.0, durable_us=32_400.0, mib_per_s=100)
RAID = Truth(servers=8, read_us=160.0, write_us=160.0, durable_us=160.0, mib_per_s=1_500)
NAS = Truth(servers=8, read_us=2_250.0, write_us=2_250.0, durable_us=2_250.0, mib_per_s=110)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    names = ["sata", "raid", "nas"]
    for name in names:
        (tmp_path / name).mkdir()
    return names


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


def three(store: Store, folders: list[str], **truths: Truth) -> tuple[SimulatedStorage, Assessment]:
    """Assess three folders; each truth is named by its folder."""
    given = {"sata": SATA, "raid": RAID, "nas": NAS} | truths
    runner = SimulatedStorage(store, {f"{name}/": truth for name, truth in given.items()})
    return runner, assess(store, runner, folders, QUICK)


def test_the_comparison_has_the_true_numbers_and_names_the_fastest(
    store: Store, folders: list[str]
) -> None:
    _, found = three(store, folders)
    assert found.comparison is not None
    by_name = {one.name: one for one in found.comparison.figures}
    assert by_name["read_latency"].values == pytest.approx([32.4e6, 0.16e6, 2.25e6], rel=1e-3)
    reads = [8e6 / truth.read_us for truth in (SATA, RAID, NAS)]
    assert by_name["random_reads"].values == pytest.approx(reads, rel=0.01)
    assert by_name["sequential_read"].values == pytest.approx([100, 1_500, 110], rel=0.01)
    assert [one.best for one in found.comparison.figures] == [[1]] * len(by_name)
    assert by_name["read_latency"].factors == pytest.approx([202.5, 1.0, 14.06], rel=0.01)
    assert found.comparison.headline == (
        f"{folders[1]} is the fastest in everything that was measured."
    )
    text = " ".join(found.comparison.sentences)
    assert f"{folders[2]} 2.25 ms (14.1 times as long, 14.0 to 14.2)" in text
    assert f"For a transaction database {folders[0]} is too slow" in text
    assert found.comparison.notes == []
    # The store has the same, and each target its own verdict.
    outcome = store.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    assert outcome["comparison"]["headline"] == found.comparison.headline
    assert [one["name"] for one in outcome["targets"]] == folders


def test_equal_targets_are_told_to_be_alike(store: Store, folders: list[str]) -> None:
    alike = {name: replace(RAID, read_us=160 + at) for at, name in enumerate(("sata", "nas"))}
    _, found = three(store, folders, **alike)
    assert found.comparison is not None
    assert all(one.best == [0, 1, 2] for one in found.comparison.figures)
    assert found.comparison.headline.startswith("None is shown to be the fastest")
    count = len(found.comparison.figures)
    figures, (*_, noted) = found.comparison.sentences[:count], found.comparison.sentences[count:]
    assert all(one.endswith(": no difference of 5 % is shown.") for one in figures)
    assert noted.startswith("Intervals are of the noise within a run")


def test_noise_keeps_a_target_from_being_told_worse(store: Store, folders: list[str]) -> None:
    """A tenth worse, by runs that are known to within a third: that is not shown."""
    noisy = {"raid": replace(RAID, noise=0.05), "nas": replace(RAID, noise=0.3, read_us=176.0)}
    _, found = three(store, folders, **noisy)
    assert found.comparison is not None
    assert found.comparison.headline.startswith("None is shown to be the fastest: in 8 of 8")
    assert folders[0] not in found.comparison.headline
    latency = found.comparison.figures[0]
    assert latency.best == [1, 2]
    low, high = latency.factor_intervals[2] or (0.0, 0.0)
    assert low < 1
    assert high > 1.2
    # What is two hundred times slower is shown to be, and the truth lies in the interval.
    low, high = latency.factor_intervals[0] or (0.0, 0.0)
    assert 100 < low < 202.5 < high
    # Writes are at the knee of each, which is named.
    measured = [one for one in found.comparison.sentences if ", measured: " in one]
    writes = next(one for one in measured if one.startswith("Random writes of 4 KiB"))
    plan = found.targets[0].plan
    assert f"at depth {plan.knee('random')}, unbuffered" in writes
    assert "write-through" in writes
    assert len(measured) == 3
    sentence = found.comparison.sentences[0]
    assert "; 5 % is not shown), sata 32.4 ms (" in sentence
    # A rate of transactions stands beside their latency.
    texts = {one.name: one.texts[0] for one in found.comparison.figures}
    assert (texts["oltp"], texts["log"]) == ("247 IOPS at 518 ms", "32.4 ms")


def test_each_load_is_measured_on_all_before_the_next_and_interleaved(
    store: Store, folders: list[str]
) -> None:
    runner, _ = three(store, folders, sata=RAID, nas=RAID)
    order = [
        next(at for at, name in enumerate(folders) if str(asked["path"]).startswith(name))
        for asked in runner.asked
    ]
    turns = [order[at : at + 3] for at in range(0, len(order), 3)]
    assert turns == [[0, 1, 2] if number % 2 == 0 else [2, 1, 0] for number in range(len(turns))]
    loads = [
        {key: value for key, value in asked.items() if key not in ("path", "create_bytes")}
        for asked in runner.asked
    ]
    assert all(loads[at] == loads[at + 1] == loads[at + 2] for at in range(0, len(loads), 3))


def test_drift_favours_none_of_the_targets(store: Store, folders: list[str]) -> None:
    """All slow down by a quarter in the meantime; one after the other, the last would lose."""
    drifting = replace(RAID, drift=-0.003)
    runner, found = three(store, folders, sata=drifting, raid=drifting, nas=drifting)
    # The truth has changed by much more than what counts as no difference.
    assert 0.003 * runner.began_s[-1] > 0.2
    assert found.comparison is not None
    for one in found.comparison.figures:
        assert one.best == [0, 1, 2], one.label


def test_a_target_that_vanishes_does_not_stop_the_others(
    store: Store, folders: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path("nas.dat")
    file.write_bytes(b"x" * (1 << 20))
    names = [folders[1], str(file)]
    runner = SimulatedStorage(store)

    def vanish(number: int) -> None:
        if number >= 8 and str(runner.asked[-1]["path"]) == str(file):
            file.unlink(missing_ok=True)
            raise fathom.InvalidRequestError("nas.dat: no such file")

    runner.before_run = vanish
    found = assess(store, runner, names, QUICK)
    whole, lost = found.targets
    assert (whole.verdict.partial, whole.plan.lost) == (None, None)
    assert {one.state for one in whole.plan.cells} == {"done"}
    assert lost.plan.lost is not None
    assert found.comparison is not None
    assert f"{file}: lost while it was measured." in found.comparison.notes
    assert any(
        note.startswith("They were measured over different") for note in found.comparison.notes
    )
    assert found.state == "failed"
    show_assessment(found)
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80


def test_scratch_files_have_the_same_size(store: Store, folders: list[str]) -> None:
    runner, found = three(store, folders)
    created = {asked["create_bytes"] for asked in runner.asked}
    assert created == {None, 64 << 20}
    assert {one.plan.target.size_bytes for one in found.targets} == {64 << 20}


def test_a_limit_of_writes_keeps_a_target_from_no_comparison_of_reads(tmp_path: Path) -> None:
    """The quickest reads took no part, as the writes of their target had a limit."""
    for name in ("limited", "free"):
        (tmp_path / name).mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        device = SimulatedStorage(store, {"limited": Truth(read_us=50.0), "free": Truth()})

        def before(_number: int) -> None:
            is_written = bool(device.asked[-1]["write_percent"])
            doubts = (("io_limited", "It was so."),) if is_written else ()
            device.truths["limited"] = replace(device.truths["limited"], doubts=doubts)

        device.before_run = before
        found = assess(store, device, [str(tmp_path / one) for one in ("limited", "free")], QUICK)
    assert found.comparison is not None
    best = {figure.name: figure.best for figure in found.comparison.figures}
    assert best["read_latency"] == [0]
    # Who is alone in a number is not the best of it.
    assert best["random_writes"] == best["durable_write_latency"] == best["log"] == []
    assert found.comparison.headline.startswith(f"{tmp_path / 'limited'} is the fastest in ")
    (note,) = [one for one in found.comparison.notes if "takes part only" in one]
    assert note == (
        f"{tmp_path / 'limited'} takes part only in what no limit was met in: A limit of I/O was "
        "measured (certain)."
    )
