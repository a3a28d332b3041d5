"""A load that was exported runs in fio with the same pattern, seen by the offsets of its log."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom.tools import FioJob, to_arguments
from fathom.tools import read_load as read
from fio_traces import FILE_BYTES, KIB, MIB, Io, needs_fio, run_jobs, translated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_fio


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return a file of 4 MiB, made and not empty."""
    path = tmp_path / "scratch.dat"
    path.write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
    return path


def trace(arguments: str, target: Path) -> list[list[Io]]:
    """Return what fio did with DiskSpd arguments, job by job."""
    jobs, notes = translated(f"{arguments} -W0 -d60 {target}")
    assert not [note for note in notes if note.changes_load], notes
    return run_jobs(jobs, target.parent)


def offsets_kib(ios: list[Io]) -> list[int]:
    return [io.offset // KIB for io in ios]


@pytest.mark.parametrize(
    ("arguments", "base_kib", "length_kib", "step_kib"),
    [
        ("-b64K", 0, 4096, 64),
        ("-b64K -B1M", 1024, 3072, 64),
        ("-b64K -f1M", 0, 1024, 64),
        ("-c4M -b64K -f1M", 0, 1024, 64),
        ("-c4M -b96K", 0, 4096, 96),
        ("-b8K -s16K -B512K:256K", 512, 256, 16),
        # A range, and a file, that end within a block: DiskSpd never begins one there.
        ("-b96K -f512K", 0, 512, 96),
        ("-b96K", 0, 4096, 96),
        ("-b8K -s24K -B64K:100K", 64, 100, 24),
    ],
)
def test_a_walk_visits_what_diskspd_would_and_begins_again(
    target: Path, arguments: str, base_kib: int, length_kib: int, step_kib: int
) -> None:
    jobs = trace(f"{arguments} -o1 --stop-ios=300", target)
    block_kib = int(re.findall(r"-b(\d+)K", arguments)[0])
    walk = [*range(base_kib, base_kib + length_kib - block_kib + 1, step_kib)]
    expected = (walk * (300 // len(walk) + 1))[:300]
    assert offsets_kib(jobs[0]) == expected
    assert {(io.kind, io.length) for io in jobs[0]} == {("read", block_kib * KIB)}


def test_blocks_that_overlap_stay_in_the_range_while_time_lasts(target: Path) -> None:
    jobs, notes = translated(f"-b16K -s4K -f256K -o1 -g200i -W0 -d1 {target}")
    assert not [note for note in notes if note.changes_load]
    (ios,) = run_jobs(jobs, target.parent)
    assert len(ios) > 100
    assert offsets_kib(ios) == [4 * (one % 61) for one in range(len(ios))]


def test_overlapping_blocks_that_fio_takes_beyond_the_range_are_told(target: Path) -> None:
    _, notes = translated(f"-b16K -s4K -f256K -o1 --stop-ios=300 -W0 {target}")
    assert [note.setting for note in notes if note.changes_load] == ["-s"]


def test_several_outstanding_walk_the_same_offsets(target: Path) -> None:
    (ios,) = trace("-b32K -o16 --stop-ios=200", target)
    assert sorted(offsets_kib(ios)) == sorted((one * 32) % 4096 for one in range(200))


def test_random_offsets_are_aligned_within_the_range_and_drawn_again(target: Path) -> None:
    (ios,) = trace("-b8K -r -o1 -B1M:1M --stop-ios=1024", target)
    places = Counter(offsets_kib(ios))
    assert {*places} <= {*range(1024, 2048, 8)}
    # 1024 draws of 128 places: a permutation would have each exactly 8 times.
    assert max(places.values()) > 10
    assert len(places) > 110


def test_random_offsets_stay_in_the_range_of_a_file_that_is_made_larger(target: Path) -> None:
    (ios,) = trace("-c4M -b4K -r -o1 -f1M --stop-ios=500", target)
    assert max(io.offset + io.length for io in ios) <= 1024 * KIB


def test_random_offsets_with_an_alignment_of_their_own_stay_in_the_range(target: Path) -> None:
    (ios,) = trace("-b64K -r4K -o1 -f512K --stop-ios=2000", target)
    assert all(io.offset % (4 * KIB) == 0 for io in ios)
    assert any(io.offset % (64 * KIB) for io in ios)
    assert max(io.offset + io.length for io in ios) <= 512 * KIB


def test_a_share_of_random_reads_goes_on_with_runs(target: Path) -> None:
    (ios,) = trace("-b4K -rs25 -r -o1 --stop-ios=4000", target)
    pairs = itertools.pairwise(ios)
    runs = sum(b.offset == a.offset + a.length for a, b in pairs) / len(ios)
    # Three standard deviations of a binomial share are 2 %.
    assert runs == pytest.approx(0.75, abs=0.03)


def test_a_mix_of_random_reads_and_writes_has_its_share(target: Path) -> None:
    (ios,) = trace("-b4K -r -w30 -o1 --stop-ios=4000", target)
    writes = sum(io.kind == "write" for io in ios) / len(ios)
    assert len(ios) == 4000
    assert writes == pytest.approx(0.30, abs=0.025)


def test_threads_with_a_stride_begin_where_diskspds_do(target: Path) -> None:
    jobs = trace("-b64K -t3 -T1M -f3M -o1 --stop-ios=48", target)
    assert [offsets_kib(ios)[0] for ios in jobs] == [0, 1024, 2048]
    assert offsets_kib(jobs[2]) == [2048 + 64 * one for one in range(16)]
    # No thread goes beyond the end that -f gives.
    assert max(io.offset + io.length for ios in jobs for io in ios) <= 3 * MIB


def test_threads_with_a_stride_and_no_end_are_one_job(target: Path) -> None:
    (ios,) = trace("-b64K -t4 -T1M -o1 --stop-ios=16", target)
    # Each of the four reads four blocks from its own first offset on.
    expected = [1024 * thread + 64 * one for thread in range(4) for one in range(4)]
    assert sorted(offsets_kib(ios)) == expected


@pytest.mark.filterwarnings("ignore:target access pattern will not be sequential")
def test_threads_without_a_stride_read_the_same_blocks(target: Path) -> None:
    (ios,) = trace("-b64K -t2 -o1 --stop-ios=64", target)
    assert Counter(offsets_kib(ios)) == dict.fromkeys(range(0, 2048, 64), 2)


def test_an_interlocked_walk_is_the_same_walk_of_one_thread(target: Path) -> None:
    (ios,) = trace("-b64K -si -t4 -o2 --stop-pass", target)
    assert sorted(offsets_kib(ios)) == [*range(0, 4096, 64)]


@pytest.mark.parametrize(
    ("arguments", "ios"),
    [
        ("-b64K -f1M --stop-pass --stop-ios=200", 16),
        ("-b64K -f1M --stop-pass --stop-ios=9", 9),
        ("-b64K -f1M --stop-pass --stop-bytes=3M", 16),
        ("-b64K -f1M --stop-pass --stop-bytes=512K", 8),
        ("-b64K -s128K -f1M --stop-pass --stop-ios=200", 8),
        ("-b64K --stop-pass --stop-ios=5000", 64),
    ],
)
def test_a_pass_that_is_counted_too_began_again_in_fio(
    target: Path, arguments: str, ios: int
) -> None:
    """With io_size fio goes through its range again, until as many bytes were moved."""
    (found,) = trace(f"{arguments} -o1", target)
    assert len(found) == ios


@pytest.mark.parametrize(
    "arguments", ["-s32K -f1M --stop-pass", "--stop-pass --stop-bytes=9M", "-T1M -t2 --stop-pass"]
)
def test_a_pass_that_fio_does_not_make_is_noted(target: Path, arguments: str) -> None:
    _, notes = translated(f"-b64K -o1 {arguments} -W0 -d60 {target}")
    assert "--stop-pass" in [one.setting for one in notes if one.changes_load]


@pytest.mark.parametrize("range_", ["-B64K:1M", "-B1M", "-f1M -T64K -t2"])
def test_blocks_that_overlap_began_at_the_other_end_of_a_range_behind_0(
    target: Path, range_: str
) -> None:
    jobs, notes = translated(f"-b8K -s4K {range_} -o1 --stop-ios=8 -W0 -d60 {target}")
    last = run_jobs(jobs, target.parent)[-1]
    assert last[0].offset > 900 * KIB
    assert any("near the end of the range" in str(one) for one in notes if one.changes_load)
    (whole,) = run_jobs(
        translated(f"-b8K -s4K -o1 --stop-ios=8 -W0 -d60 {target}")[0], target.parent
    )
    assert offsets_kib(whole) == [*range(0, 32, 4)]


@pytest.mark.parametrize("range_", ["-B1M -c1M", "-B2M -c1M", "-B1M -c1M -T64K -t2"])
def test_a_range_without_a_byte_was_a_traceback_or_the_whole_file(
    target: Path, range_: str
) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=r"range begins at [12]m .* ends at 1m"):
        translated(f"-b4K {range_} {target}")


def test_parallel_walks_visit_each_block_once_per_outstanding(target: Path) -> None:
    (ios,) = trace("-b64K -p -o4 --stop-ios=256", target)
    assert Counter(offsets_kib(ios)) == dict.fromkeys(range(0, 4096, 64), 4)


def test_hot_places_have_their_share(target: Path) -> None:
    (ios,) = trace("-b4K -r -rdpct80/10:0/10:20/80 -o1 --stop-ios=4000", target)
    tenths = Counter(io.offset * 10 // FILE_BYTES for io in ios)
    assert tenths[0] / 4000 == pytest.approx(0.8, abs=0.03)
    assert tenths[1] <= 10
    (ios,) = trace("-b4K -r -c4M -rdabs75/1M:5/1M -o1 --stop-ios=4000", target)
    megabytes = Counter(io.offset // MIB for io in ios)
    assert megabytes[0] / 4000 == pytest.approx(0.75, abs=0.03)
    assert megabytes[1] / 4000 == pytest.approx(0.05, abs=0.015)


def test_a_mix_of_block_sizes_has_its_shares(target: Path) -> None:
    (ios,) = trace("-b8K -r4K --block-mix=4K:70,16K:30 -o1 --stop-ios=3000", target)
    sizes = Counter(io.length for io in ios)
    assert {*sizes} == {4 * KIB, 16 * KIB}
    assert sizes[16 * KIB] / len(ios) == pytest.approx(0.3, abs=0.04)


def test_syncs_follow_so_many_writes(target: Path) -> None:
    jobs, _ = translated(f"-b4K -w100 --fsync=8 -o1 -W0 -d60 --stop-ios=64 {target}")
    assert jobs[0].options["fsync"] == "8"
    (ios,) = run_jobs(jobs, target.parent)
    kinds = [io.kind for io in ios]
    assert kinds[:9] == ["write"] * 8 + ["sync"]
    # The job ends with the last write, before the eighth sync.
    assert kinds.count("sync") == 7


@pytest.mark.parametrize("arguments", ["", "-Z", "-Zr"])
def test_writes_hold_the_data_that_diskspd_writes(target: Path, arguments: str) -> None:
    trace(f"-b64K -w100 -o1 {arguments} --stop-ios=64", target)
    written = target.read_bytes()
    if arguments == "-Z":
        assert written == bytes(FILE_BYTES)
    elif arguments == "-Zr":
        blocks = {written[start : start + 64 * KIB] for start in range(0, FILE_BYTES, 64 * KIB)}
        assert len(blocks) == 64
        assert min(len({*block}) for block in blocks) > 250
    else:
        assert written == bytes(range(256)) * (FILE_BYTES // 256)


def test_a_file_that_is_missing_is_made_with_its_size(tmp_path: Path) -> None:
    path = shlex.quote(str(tmp_path / "new:a b.dat"))
    jobs, _ = translated(f"-c2M -b64K -o1 -W0 -d60 --stop-ios=40 {path}")
    (ios,) = run_jobs(jobs, tmp_path)
    assert (tmp_path / "new:a b.dat").stat().st_size == 2 * MIB
    assert offsets_kib(ios) == [one * 64 % 2048 for one in range(40)]


def test_time_spans_run_one_after_the_other(target: Path) -> None:
    first, second = (translated(f"-b64K {more} -o1 -W0 -d60 --stop-ios=4 {target}")[0][0]
                     for more in ("-f1M", "-B2M"))  # fmt: skip
    jobs = [first, FioJob("second", {"stonewall": "", **second.options})]
    traces = run_jobs(jobs, target.parent)
    assert [offsets_kib(ios)[0] for ios in traces] == [0, 2048]


def _own_offsets(arguments: list[str], target: Path) -> list[int]:
    """Return the offsets of our own engine's reads, as strace sees them."""
    log = target.parent / "strace.txt"
    code = "import sys, fathom; fathom.run(sys.argv[1:])"
    strace = shutil.which("strace") or "strace"
    watch = ["-f", "-qq", "-e", "trace=pread64", "-e", "signal=none", "-P", str(target)]
    own = [sys.executable, "-c", code, *arguments, str(target)]
    subprocess.run([strace, *watch, "-o", str(log), *own], check=True, capture_output=True)
    found = re.findall(r"pread64\(\d+, .*, (\d+), (\d+)\) += \d+", log.read_text())
    return [int(offset) // KIB for _, offset in found]


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("arguments", ["-b64K", "-b8K -s24K -B64K:100K", "-b96K -f512K"])
def test_our_engine_and_fio_walk_the_same_offsets(target: Path, arguments: str) -> None:
    (ios,) = trace(f"{arguments} -o1 --stop-ios=150", target)
    own = _own_offsets([*arguments.split(), "-o1", "-W0", "-d60", "--stop-ios=150"], target)
    assert own[-150:] == offsets_kib(ios)


def test_a_number_of_ios_is_reached_with_the_large_sizes_of_a_mix_too(target: Path) -> None:
    (ios,) = trace("-b4K --block-mix=4K:50,64K:50 -o1 --stop-ios=200", target)
    assert len(ios) == 200


def test_of_two_counts_the_first_that_is_reached_ends_the_load(target: Path) -> None:
    (ios,) = trace("-b64K -o1 --stop-ios=20 --stop-bytes=4M", target)
    assert len(ios) == 20
    (ios,) = trace("-b64K -o1 --stop-ios=20 --stop-bytes=512K", target)
    assert len(ios) == 8


def test_what_went_to_fio_and_back_is_the_same_load(target: Path) -> None:
    """The other way is tested with fio, too: what comes back gives the same offsets."""
    lines, notes = to_arguments(read(["-b8K", "-s24K", "-B64K:100K", "-o1", str(target)]))
    assert not notes
    jobs, _ = translated(" ".join([*lines[0][:-1], "-W0 --stop-ios=20", lines[0][-1]]))
    (ios,) = run_jobs(jobs, target.parent)
    assert offsets_kib(ios) == [64 + 24 * (one % 4) for one in range(20)]
