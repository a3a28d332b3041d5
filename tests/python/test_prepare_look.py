"""What a target holds: real files with holes, unwritten extents, zeros, and data that repeat."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom import FathomError, InvalidRequestError
from fathom.experiments.prepare import look
from fathom.experiments.prepare._extents import file_layout, merged
from fathom.experiments.prepare._survey import survey
from fathom.store import Store

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


def noise(size: int, seed: int = 1) -> bytes:
    """Return data that do not compress."""
    return random.Random(seed).randbytes(size)  # noqa: S311 - No secret.


def on_a_disk(path: Path) -> Path:
    """Skip where the folder of the tests lies in memory, which is another story."""
    path.touch()
    if look(path).target.is_in_memory:
        pytest.skip(f"{path.parent} lies in memory")
    return path


def test_a_file_that_was_only_given_a_size_is_all_hole(tmp_path: Path) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    os.truncate(path, 8 * MIB)
    found = look(path)
    assert (found.layout.hole_bytes, found.layout.written) == (8 * MIB, [])
    assert (found.reads_measure_device, found.survey, found.empty_share.value) == ("no", None, 1.0)
    assert any("sparse" in one for one in found.sentences)
    assert any("fathom prepare fill --only-missing" in one for one in found.sentences)


def test_an_allocated_file_that_was_never_written_is_told_from_a_hole(tmp_path: Path) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    with path.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 8 * MIB)
        file.seek(2 * MIB)
        file.write(noise(MIB))
    found = look(path)
    if found.layout.source != "fiemap":
        pytest.skip("this file system does not tell unwritten extents from holes")
    assert found.layout.written == [(2 * MIB, 3 * MIB)]
    assert (found.layout.unwritten_bytes, found.layout.hole_bytes) == (7 * MIB, 0)
    assert found.reads_measure_device == "partly"
    assert found.empty_share.value == pytest.approx(7 / 8)


def test_written_zeros_are_found_by_reading(tmp_path: Path) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    path.write_bytes(bytes(3 * MIB) + noise(MIB))
    found = look(path)
    assert found.layout.hole_bytes + found.layout.unwritten_bytes == 0
    assert found.survey is not None
    assert found.survey.is_whole
    assert found.survey.zero_share.value == found.survey.zero_share.high == 0.75
    assert found.reads_measure_device == "doubtful"


def test_data_that_compress_and_repeat_are_measured(tmp_path: Path) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    blocks = [noise(2048, seed) + bytes(2048) for seed in range(1024)]
    path.write_bytes(b"".join(blocks + blocks[:512]))
    found = look(path)
    assert found.survey is not None
    assert found.survey.compress_ratio is not None
    assert found.survey.compress_ratio.value == pytest.approx(2, rel=0.03)
    assert found.survey.dedupe_ratio == 1.5
    assert found.survey.repeated_share == pytest.approx(2 / 3)
    assert found.survey.zero_share.value == 0
    assert found.reads_measure_device == "yes"
    assert any("compresses or deduplicates" in one for one in found.sentences)
    path.write_bytes(noise(4 * MIB + 777))
    plain = look(path)
    assert plain.survey is not None
    assert plain.survey.compress_ratio is not None
    assert plain.survey.compress_ratio.value == pytest.approx(1, rel=0.001)
    assert plain.survey.dedupe_ratio == 1
    assert plain.survey.read_bytes == 4 * MIB + 777
    assert not any("compresses or deduplicates" in one for one in plain.sentences)


def test_intervals_of_samples_hold_the_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.dat"
    # A quarter is zero, in runs of 256 KiB.
    kinds = [bytes(256 << 10), noise(256 << 10)]
    order = random.Random(3)  # noqa: S311 - No secret.
    chosen = order.choices((0, 1), weights=(1, 3), k=128)
    path.write_bytes(b"".join(kinds[one] for one in chosen))
    true = chosen.count(0) / len(chosen)
    size = path.stat().st_size
    monkeypatch.setattr("fathom.experiments.prepare._survey.WHOLE_BYTES", 0)
    monkeypatch.setattr("fathom.experiments.prepare._survey._COMPRESSED_MOST", 4)
    held = 0
    for seed in range(60):
        found = survey(str(path), [(0, size)], samples=64, seed=seed)
        assert not found.is_whole
        assert found.dedupe_ratio is None
        held += found.zero_share.low <= true <= found.zero_share.high
    assert held >= 55


def test_samples_of_a_large_target_are_few_and_no_block_is_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(noise(16 * MIB))
    monkeypatch.setattr("fathom.experiments.prepare._survey.WHOLE_BYTES", 0)
    # Two ranges, so that a window may end with its range.
    spans = [(0, 5 * MIB + 4096), (9 * MIB, 16 * MIB)]
    found = survey(str(path), spans, samples=128)
    assert not found.is_whole
    assert found.read_bytes <= 128 * (64 << 10)
    assert found.windows >= 126
    assert found.repeated_share == 0
    assert survey(str(path), spans, samples=128, whole=True).read_bytes == 12 * MIB + 4096


def test_too_many_contents_are_counted_by_a_sample_of_contents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.dat"
    distinct = noise(4 * MIB)
    path.write_bytes(distinct * 3)
    monkeypatch.setattr("fathom.experiments.prepare._survey._CONTENTS_MOST", 200)
    found = survey(str(path), [(0, 12 * MIB)])
    # All repeats of a content are kept or none, so that the ratio stays right.
    assert found.dedupe_ratio == 3


def test_layouts_by_seeking_agree_with_the_kernels_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    with path.open("r+b") as file:
        for place in (MIB, 3 * MIB, 6 * MIB):
            file.seek(place)
            file.write(noise(MIB // 2))
        file.truncate(8 * MIB)
        os.fsync(file.fileno())
        by_map = file_layout(file.fileno(), 8 * MIB)

        def refuse(*_args: object) -> None:
            raise OSError(95, "not supported")

        monkeypatch.setattr("fcntl.ioctl", refuse)
        by_seeking = file_layout(file.fileno(), 8 * MIB)
    assert by_seeking.source == "seek"
    assert by_seeking.hole_bytes == by_map.hole_bytes == 8 * MIB - 3 * MIB // 2
    assert by_seeking.written == by_map.written


def test_many_extents_are_read_in_several_calls(tmp_path: Path) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    with path.open("r+b") as file:
        for number in range(1200):
            file.seek(number * 16384)
            file.write(b"x" * 4096)
        file.truncate(1200 * 16384)
        os.fsync(file.fileno())
        layout = file_layout(file.fileno(), 1200 * 16384)
    assert sum(end - start for start, end in layout.written) == 1200 * 4096
    assert layout.hole_bytes == 1200 * 12288


def test_ranges_that_touch_become_one() -> None:
    assert merged([(8, 9), (0, 4), (4, 6), (5, 7)]) == [(0, 7), (8, 9)]


def test_wrong_targets_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="no such file or device"):
        look(tmp_path / "missing")
    with pytest.raises(InvalidRequestError, match="is a directory"):
        look(tmp_path)
    with pytest.raises(InvalidRequestError, match="character device"):
        look("/dev/null")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidRequestError, match="named pipe"):
        look(pipe)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(FathomError, match="Not a directory"):
        look(tmp_path / "file" / "below")


def test_the_command_tells_in_words_and_as_json_and_keeps_what_it_found(tmp_path: Path) -> None:
    path = on_a_disk(tmp_path / "x.dat")
    os.truncate(path, 4 * MIB)
    empty = tmp_path / "empty.dat"
    empty.touch()
    done = command("prepare", "look", str(path), str(empty))
    assert (done.returncode, done.stderr) == (0, "")
    assert "A read test would not measure the device" in done.stdout
    assert "It is empty" in done.stdout
    done = command("prepare", "look", "--json", str(path))
    (found,) = json.loads(done.stdout)
    assert found["reads_measure_device"] == "no"
    assert found["layout"]["hole_bytes"] == 4 * MIB
    with Store(os.environ["FATHOM_STORE"]) as store:
        kept = store.experiments.list(verb="prepare")
        assert len(kept) == 3
        assert kept[0].outcome == found
    assert command("prepare", "look", str(tmp_path / "none")).returncode == 3
    assert command("prepare", "look").returncode == 3


def test_one_target_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    names = [tmp_path / f"{one}.dat" for one in "abc"]
    for one in (names[0], names[2]):
        one.write_bytes(noise(MIB))
    done = command("prepare", "look", *names)
    assert done.returncode == 1
    assert [str(one) in done.stdout for one in names] == [True, False, True]
    assert f"error: {names[1]}: there is no such file" in done.stderr
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert len(store.experiments.list(verb="prepare")) == 2
    done = command("prepare", "look", "--json", names[1], names[2])
    assert [one["target"]["path"] for one in json.loads(done.stdout)] == [str(names[2])]
    assert (done.returncode, command("prepare", "look", names[1]).returncode) == (1, 3)
