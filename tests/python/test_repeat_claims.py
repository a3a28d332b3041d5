"""What is said of repetitions, and of runs that nobody planned: whose figures they are."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom import Result
from fathom.cli.commands.repeat import _sentences
from fathom.experiments.repeat import RepeatPolicy, repeat
from fathom.report import gather, markdown
from fathom.report.collect._runs import NOT_THE_DEVICES, OTHERS_LEFT_OUT
from fathom.runners import measure as _measure
from fathom.store import Store
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fathom.report.material import Side

MEMORY = ("not_the_device", "Memory and no device answered: it lies on tmpfs.")
SWAP = ("not_the_device", "Memory and swap answered: of 9 reads, 36 KiB were fetched from swap.")
CACHE = ("not_the_device", "Of 834,436 reads (3.2 GiB), 7 (28 KiB) reached vda.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file."""
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def side_of(store: Store, results: Sequence[Result]) -> Side:
    """Return what a report shows of these runs."""
    ids = [store.runs.save(one, ["-r", "x.dat"]) for one in results]
    (side,) = gather(store, [",".join(map(str, ids))]).sides
    return side


@pytest.mark.parametrize(
    ("warned", "named"),
    [
        ((), ""),
        ((MEMORY,), "memory and no device answered (certain)"),
        ((SWAP,), "memory and swap answered (certain)"),
        ((CACHE,), "something else than the device answered (certain)"),
    ],
)
def test_a_repetition_names_whose_figures_it_has(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    warned: Sequence[tuple[str, str]],
    named: str,
) -> None:
    """On tmpfs it gave 481,000 IOPS, on the terminal and in JSON without a word of memory."""
    result = fabricated(rates=481_000.0, warnings=warned)
    monkeypatch.setattr(_measure, "run_kept", lambda *_words, **_more: result)
    found = repeat(store, ["-d1", "x.dat"], RepeatPolicy("iops", 0.01, 0.95, 3, 3))
    (claim,) = found.claims
    assert claim.text.startswith("No verdict on a device") == bool(warned)
    assert named in claim.text
    assert "3 runs gave 481,000 IOPS, of which no interval can be told" in claim.text
    assert [one.value for one in claim.evidence] == [481_000.0] * 3
    assert [one.run_id for one in claim.evidence] == found.run_ids
    # The page, the store and the text have the same sentence.
    (side,) = gather(store, [f"e{found.experiment_id}"]).sides
    assert side.verdict is not None
    assert side.verdict.headline == claim.text
    outcome = store.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    assert outcome["claims"] == json.loads(json.dumps([asdict(claim)]))


def test_the_best_of_runs_leaves_out_those_of_no_device(store: Store) -> None:
    """A page told the 1.3 million IOPS of a cache as the most, beside what a disk did."""
    disk, cache = fabricated(rates=300.0), fabricated(rates=1.3e6, warnings=[CACHE])
    tiles = {one.label: one for one in side_of(store, [disk, cache]).numbers}
    assert (tiles["Most IOPS"].value, tiles["Most IOPS"].conditions) == (300, OTHERS_LEFT_OUT)
    tiles = {one.label: one for one in side_of(store, [cache, cache]).numbers}
    assert (tiles["Most IOPS"].value, tiles["Most IOPS"].conditions) == (1.3e6, NOT_THE_DEVICES)
    tiles = {one.label: one for one in side_of(store, [disk, disk]).numbers}
    assert (tiles["Most IOPS"].value, tiles["Most IOPS"].conditions) == (300, "")


def test_rows_of_runs_carry_the_marks_of_their_findings(store: Store) -> None:
    runs = [fabricated(rates=300.0), fabricated(rates=1.3e6, warnings=[CACHE])]
    ids = [store.runs.save(one, ["-r", "x.dat"]) for one in runs]
    material = gather(store, [",".join(map(str, ids))])
    assert [one.marks for one in material.sides[0].runs] == [(), ("not-the-device",)]
    assert "| A |" in markdown(material)


def test_a_run_without_an_io_gives_no_rate(store: Store) -> None:
    """Its page said 0 IOPS, 0 MiB/s, as if that had been measured."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(fabricated(rates=0.0).raw)))
    raw["time_spans"][0]["outcome"] = "no_io"
    side = side_of(store, [Result.from_json(json.dumps(raw))])
    assert side.verdict is not None
    assert side.verdict.headline.endswith(": no I/O completed in the measured time.")


def test_a_run_that_was_interrupted_says_so(store: Store) -> None:
    raw: dict[str, Any] = json.loads(json.dumps(dict(fabricated(rates=300.0).raw)))
    raw["time_spans"][0]["outcome"] = "interrupted"
    side = side_of(store, [Result.from_json(json.dumps(raw))])
    assert side.verdict is not None
    assert ", not to its end: 300 IOPS" in side.verdict.headline


def test_no_rate_is_written_as_a_power_of_ten() -> None:
    """512 bytes in five seconds were ``9.77e-05 MiB/s``."""
    told = [rate_words(10.0**power) for power in range(-9, 9)]
    assert not [one for one in told if "e" in one.replace("below", "")]
    assert rate_words(9.765625e-05) == "0.0000977"
    assert rate_words(0.0) == "0"


def test_a_figure_of_some_runs_alone_was_that_of_none(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few I/Os with few writes: a run without one has no rate of writes, the others have."""
    numbers = iter(range(2))

    def made(*_any: object, **_more: object) -> Result:
        return fabricated(write=100 * next(numbers))

    monkeypatch.setattr(_measure, "run_kept", made)
    policy = RepeatPolicy(metric="write.iops", pilot=2, most=2)
    found = repeat(store, ["x.dat"], policy)
    assert "Not every run has the figure that was to be known, write.iops." in _sentences(
        found, policy
    )
