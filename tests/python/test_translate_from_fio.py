"""A fio job becomes the load that fio itself makes of it, or a note says that it does not."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom.tools import Note, from_fio, read_fio_arguments, read_job_file, read_load, to_fio
from fathom.tools._units import read_fio_size
from fathom.tools.fio.read import fio_results
from fio_traces import FILE_BYTES, KIB, MIB, Io, needs_fio, run_jobs, translated

if TYPE_CHECKING:
    from pathlib import Path


def ours(text: str) -> tuple[list[list[str]], list[Note]]:
    """Return DiskSpd's command lines for a job file, and the notes that say another load."""
    found = from_fio(read_job_file(text))
    for line in found.command_lines:
        fathom.parse(line)
    return found.command_lines, [note for note in found.notes if note.changes_load]


def fios(text: str, folder: Path) -> list[list[Io]]:
    """Return what fio does with a job file, job by job, on files of 4 MiB."""
    for name in ("a", "b"):
        (folder / name).write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
    return run_jobs(read_job_file(text), folder)


MIX_TWICE = """\
[global]
rw=randrw
norandommap
rwmixwrite=30
direct=1
time_based
runtime=1
filename=a
[one]
rwmixread=90
buffered=1
invalidate=0
"""


def test_a_job_that_says_the_share_by_its_other_name_does_not_keep_that_of_global() -> None:
    ((line,), notes) = ours(MIX_TWICE)
    assert "-w10" in line
    assert not [one for one in line if one.startswith("-S")]
    assert not notes
    # Of the two, the later one holds, whichever it is.
    ((line,), _) = ours(MIX_TWICE.replace("rwmixwrite=30", "rwmixread=30\nbuffered=1"))
    assert "-w10" in line
    ((line,), _) = ours(MIX_TWICE.replace("rwmixread=90", "group_reporting"))
    assert "-w30" in line


@needs_fio
def test_fio_lets_the_later_of_two_opposite_options_hold(tmp_path: Path) -> None:
    text = MIX_TWICE.replace("time_based\n", "") + "io_size=4m\n"
    (ios,) = fios(text, tmp_path)
    writes = sum(one.kind == "write" for one in ios) / len(ios)
    # Five standard deviations of a share of 1024 I/Os.
    assert writes == pytest.approx(0.1, abs=0.05)


def test_a_result_has_the_share_that_its_job_set_over_that_of_global() -> None:
    job = {"jobname": "one", "job options": {"rw": "randrw", "rwmixread": "90"}}
    document = {
        "fio version": "fio-3.33",
        "global options": {"rwmixwrite": "30"},
        "jobs": [{**job, "read": {"total_ios": 9}, "write": {"total_ios": 1}}],
    }
    (result,) = fio_results(document)
    assert result.load.write_percent == 10


def test_options_behind_the_name_global_are_no_job_but_hold_for_the_jobs_behind() -> None:
    words = "--name=global --rw=randread --bs=8k --name=job1 --name=job2 --bs=16k"
    one, two = read_fio_arguments(words.split())
    assert (one.name, dict(one.options)) == ("job1", {"rw": "randread", "bs": "8k"})
    assert (two.name, dict(two.options)) == ("job2", {"rw": "randread", "bs": "16k"})


# fio looks at six letters, as they are.
GLOBALS = {"global": True, "globally": True, "global.dat": True, "Global": False, "a-global": False}


@needs_fio
@pytest.mark.parametrize(("name", "is_global"), GLOBALS.items())
def test_a_section_is_global_where_it_is_to_fio(
    tmp_path: Path, name: str, *, is_global: bool
) -> None:
    text = f"[{name}]\nfilename=a\n[job]\nrw=read\nsize=64k\nio_size=64k\n"
    jobs = [one.name for one in read_job_file(text)]
    assert jobs == (["job"] if is_global else [name, "job"])
    (tmp_path / "job.fio").write_text(text)
    said = subprocess.run(
        [shutil.which("fio") or "fio", "job.fio"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert [line.partition(":")[0] for line in said.stdout.splitlines() if "rw=" in line] == jobs


@needs_fio
@pytest.mark.parametrize("name", ["global", "global.dat", "globals"])
def test_a_target_whose_name_begins_with_global_is_a_job_of_fio(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(bytes(FILE_BYTES))
    jobs, _ = translated(f"-b64K --stop-ios=4 -W0 -d5 {tmp_path / name}")
    (ios,) = run_jobs(jobs, tmp_path)
    assert len(ios) == 4
    (plain,), _ = translated("-b64K my-global.dat")
    assert plain.name == "my-global.dat"


COUNTED = """\
[global]
rw=randread
norandommap
direct=1
runtime=5
io_size=256k
size=2m
[one]
filename=a
[two]
filename=b
"""


@needs_fio
def test_jobs_that_become_one_command_line_do_as_many_ios_as_fio_does(tmp_path: Path) -> None:
    ((line,), notes) = ours(COUNTED)
    moved = sum(one.length for ios in fios(COUNTED, tmp_path) for one in ios)
    assert [one for one in line if one.startswith("--stop")] == [f"--stop-bytes={moved}"]
    assert not notes
    # Each job that is alone keeps its own count, times its threads.
    ((line,), _) = ours(COUNTED.partition("[two]")[0] + "numjobs=3\n")
    assert f"--stop-bytes={3 * 256 * KIB}" in line


@needs_fio
def test_a_number_of_ios_beyond_the_size_ends_with_the_size_as_in_fio(tmp_path: Path) -> None:
    text = COUNTED.replace("io_size=256k", "number_ios=600").partition("[two]")[0]
    (ios,) = fios(text, tmp_path)
    assert len(ios) == 512
    ((line,), notes) = ours(text)
    assert {"--stop-ios=600", f"--stop-bytes={2 * MIB}"} <= {*line}
    assert not notes


@needs_fio
@pytest.mark.parametrize("end", ["io_size=256k", "number_ios=64"])
def test_no_count_ends_a_job_that_is_time_based(tmp_path: Path, end: str) -> None:
    text = f"{COUNTED.partition('[two]')[0]}time_based\nruntime=1\nrate_iops=200\n"
    text = text.replace("io_size=256k", end)
    (ios,) = fios(text, tmp_path)
    assert len(ios) > 64
    ((line,), notes) = ours(text)
    assert not [one for one in line if one.startswith("--stop")]
    assert not notes


RATED = """\
[one]
rw=randrw
norandommap
direct=1
size=1m
runtime=1
time_based
filename=a
rate_iops={}
"""


def rate_of(text: str) -> tuple[list[str], list[Note]]:
    ((line,), notes) = ours(text)
    return [one for one in line if one.startswith("-g")], notes


def test_a_rate_of_a_mix_is_that_of_reads_and_of_writes_each() -> None:
    found, (note,) = rate_of(RATED.format(100))
    assert found == ["-g200i"]
    assert "100 and 100" in note.words


@pytest.mark.parametrize(
    ("rw", "rates", "expected"),
    [
        ("randread", "300,60", ["-g300i"]),
        ("randwrite", "300,60", ["-g60i"]),
        # Without a number, this way has no rate.
        ("randread", ",60", []),
        ("randwrite", "300,", []),
        ("randread", "300", ["-g300i"]),
    ],
)
def test_a_job_of_one_way_has_the_rate_of_this_way(
    rw: str, rates: str, expected: list[str]
) -> None:
    text = RATED.format(rates).replace("rw=randrw", f"rw={rw}")
    assert rate_of(text) == (expected, [])


def test_a_mix_of_which_one_way_alone_has_a_rate_is_reported() -> None:
    found, (note,) = rate_of(RATED.format(",60"))
    assert found == []
    assert note.setting == "rate_iops"


def test_a_rate_is_that_of_all_files_of_a_job_together() -> None:
    text = RATED.format(100).replace("randrw", "randread").replace("filename=a", "filename=a:b")
    found, notes = rate_of(text)
    assert found == ["-g50i"]
    assert [note.setting for note in notes] == ["filename"]


def test_a_think_time_that_is_no_whole_millisecond_is_reported() -> None:
    text = RATED.format(10).replace("randrw", "randread").replace("rate_iops=10", "thinktime={}")
    ((line,), (note,)) = ours(text.format(100))
    assert "-j1" in line
    assert note.words == "-j has whole milliseconds: 1 for 0.1"
    ((line,), notes) = ours(text.format("2ms"))
    assert ("-j2" in line, notes) == (True, [])
    ((line,), notes) = ours(text.format(0))
    assert not notes


PLACED = "[one]\nrw=read\nbs=64k\nruntime=5\ndirect=1\nnumber_ios=128\nio_size=8m\n"


def place_of(text: str) -> tuple[list[str], list[str]]:
    """Return the arguments of the range, and what is reported of it."""
    ((line,), notes) = ours(text)
    names = ("size", "offset_increment", "filesize")
    places = [one for one in line if one.startswith(("-f", "-B", "-c", "-T"))]
    return sorted(places, reverse=True), [note.setting for note in notes if note.setting in names]


def ends_in_mib(text: str, folder: Path) -> list[float]:
    """Return where the I/Os of fio's job end in its files."""
    return [max(one.offset + one.length for one in ios) / MIB for ios in fios(text, folder)]


@needs_fio
def test_the_files_of_a_job_share_its_size(tmp_path: Path) -> None:
    text = f"{PLACED}size=2m\nfilename=a:b\n"
    assert ends_in_mib(text, tmp_path) == [1]
    assert place_of(text) == (["-f1M"], [])
    alone = text.replace("a:b", "a")
    assert ends_in_mib(alone, tmp_path) == [2]
    assert place_of(alone) == (["-f2M"], [])


@needs_fio
def test_a_filesize_is_gone_over_whole_whatever_the_size_says(tmp_path: Path) -> None:
    text = f"{PLACED}size=1m\nfilesize=4m\nfilename=a\n".replace("rw=read", "rw=randread")
    text = f"{text}norandommap\n"
    (end,) = ends_in_mib(text, tmp_path)
    assert end > 3
    assert place_of(text) == (["-c4M"], [])
    # A size that is that of the file says the same twice.
    assert place_of(text.replace("size=1m", "size=4m", 1)) == (["-f4M", "-c4M"], [])


@needs_fio
def test_threads_of_fio_that_begin_apart_have_a_range_for_each(tmp_path: Path) -> None:
    text = f"{PLACED}size=1m\noffset_increment=1m\nnumjobs=4\nfilename=a\n"
    text = text.replace("io_size=8m", "io_size=1m").replace("number_ios=128\n", "")
    # All of the file is read, which is four times the size.
    (ios,) = fios(text, tmp_path)
    assert sorted(one.offset // KIB for one in ios) == [*range(0, 4096, 64)]
    assert place_of(text) == (["-f4M", "-T1M"], ["offset_increment"])
    assert place_of(text.replace("numjobs=4", "numjobs=1")) == (["-f1M"], [])


def test_shares_of_randomness_that_differ_between_reads_and_writes_are_reported() -> None:
    text = RATED.replace("rate_iops={}", "percentage_random=100,0")
    (_, (note,)) = ours(text)
    assert note.setting == "percentage_random"
    # A job that only writes has the share of writes, and one that only reads that of reads.
    ((line,), notes) = ours(text.replace("randrw", "randwrite"))
    assert ("-s" in line, notes) == (True, [])
    ((line,), notes) = ours(text.replace("randrw", "randread"))
    assert ("-r" in line, notes) == (True, [])
    ((line,), notes) = ours(text.replace("100,0", "70"))
    assert ("-rs70" in line, notes) == (True, [])


def test_sizes_without_a_share_share_all_of_the_rest() -> None:
    text = RATED.replace("randrw", "randread").replace("rate_iops={}", "bssplit=4k:8k:16k")
    ((line,), (note,)) = ours(text)
    assert "--block-mix=4K:33,8K:33,16K:34" in line
    # fio takes a 16k at any 4k, which DiskSpd does not.
    assert note.setting == "bssplit"
    ((line,), _) = ours(text.replace("4k:8k:16k", "4k/30:8k:16k"))
    assert "--block-mix=4K:30,8K:35,16K:35" in line
    ((line,), notes) = ours(text.replace("rw=randread", "rw=read"))
    assert not notes


def test_a_variable_of_the_environment_is_what_fio_puts_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "[one]\nrw=read\nfilename=${FATHOM_SCRATCH}/a\n"
    monkeypatch.setenv("FATHOM_SCRATCH", "/data")
    ((line,), _) = ours(text)
    assert line[-1] == "/data/a"
    # fio refuses the job where it is not set; a file of that very name is not meant.
    monkeypatch.delenv("FATHOM_SCRATCH")
    with pytest.raises(fathom.InvalidRequestError, match=r"\$\{FATHOM_SCRATCH\} is no variable"):
        ours(text)


@pytest.mark.parametrize(
    ("job", "expected", "told"),
    [
        ("iodepth_batch=8", "-u8", []),
        ("prioclass=2\nprio=7", "-I2", []),
        ("prioclass=3", "-I1", []),
        ("prioclass=2", None, []),
        ("prioclass=1", None, ["prioclass"]),
        ("prio=3", None, ["prioclass"]),
        ("directory=/x:/y", None, ["directory"]),
    ],
)
def test_an_option_is_said_or_reported(job: str, expected: str | None, told: list[str]) -> None:
    text = f"[one]\nrw=read\nioengine=io_uring\ndirect=1\nio_size=1m\nfilename=a\n{job}\n"
    ((line,), notes) = ours(text)
    assert [one for one in line if one.startswith(("-I", "-u"))] == [*filter(None, [expected])]
    assert [note.setting for note in notes] == told


def test_a_runtime_of_nought_is_none_and_part_of_a_second_is_reported() -> None:
    text = "[one]\nrw=read\ndirect=1\nio_size=1m\nfilename=a\nruntime={}\n"
    assert "-d86400" in ours(text.format(0))[0][0]
    found = from_fio(read_job_file(text.format("1500ms")))
    assert "-d2" in found.command_lines[0]
    assert "DiskSpd has whole seconds: 2 for 1.5" in [note.words for note in found.notes]


def test_a_stonewall_of_nought_is_no_wall() -> None:
    text = "[one]\nrw=read\nio_size=1m\nfilename=a\n[two]\nstonewall={}\nfilename=b\n"
    text = text.replace("[one]", "[global]").replace("filename=a", "[one]\nfilename=a")
    assert len(ours(text.format(0))[0]) == 1
    assert len(ours(text.format(1))[0]) == 2
    # Without a value, it is on.
    assert len(ours(text.replace("stonewall={}", "stonewall"))[0]) == 2


def _line_and_notes(*options: str) -> tuple[list[str], dict[str, str]]:
    found = from_fio(read_fio_arguments(["--name=a", "--filename=x.dat", *options]))
    return found.command_lines[0], {one.setting: one.words for one in found.notes}


def test_a_job_of_several_sizes_with_a_number_of_ios_was_refused() -> None:
    """Its size became a ``--stop-bytes``, which the engine refuses beside a mix of sizes."""
    mixed = ("--rw=randread", "--bssplit=4k/50:8k/50", "--size=64m", "--number_ios=20")
    line, notes = _line_and_notes(*mixed)
    fathom.parse(line)
    assert "--stop-ios=20" in line
    assert not [one for one in line if one.startswith("--stop-bytes")]
    assert "fio ends after" in notes["size"]
    # A reader has the size of reads alone, and its bytes can be counted.
    line, _ = _line_and_notes("--rw=read", "--bs=4k,8k", "--size=64k", "--number_ios=20")
    assert {"-b4K", "--stop-ios=20", "--stop-bytes=65536"} <= {*line}
    assert not [one for one in line if "block-mix" in one]
    line, _ = _line_and_notes("--rw=write", "--bs=4k,8k", "--size=64k", "--number_ios=20")
    assert "-b8K" in line


def test_a_job_went_on_behind_the_end_of_a_file_that_is_smaller_than_its_size() -> None:
    """It is 32 writes of fio, and the line made 50."""
    small = ("--rw=write", "--bs=4k", "--size=256k", "--filesize=128k", "--number_ios=50")
    line, _ = _line_and_notes(*small)
    assert {"-c128K", "--stop-bytes=131072"} <= {*line}
    assert "-f256K" not in line


def test_bytes_of_each_thread_were_no_whole_blocks() -> None:
    """Three threads of fio write eight blocks each for 30 KiB, and the line wrote 23 in all."""
    parts = ("--rw=write", "--bs=4k", "--size=64k", "--io_size=30k", "--numjobs=3")
    line, notes = _line_and_notes(*parts)
    assert f"--stop-bytes={3 * 8 * 4096}" in line
    assert "for each thread" in notes["io_size"]
    alone, notes = _line_and_notes(*parts[:-1])
    assert f"--stop-bytes={8 * 4096}" in alone
    assert "io_size" not in notes


def test_sizes_of_a_thousand_were_no_part_of_the_load() -> None:
    _, notes = _line_and_notes("--rw=read", "--bs=4k", "--size=64k", "--kb_base=1000")
    assert "no equal of kb_base=1000" in notes["kb_base"]
    _, notes = _line_and_notes("--rw=read", "--bs=4k", "--size=64k", "--kb_base=1024")
    assert "kb_base" not in notes


@needs_fio
@pytest.mark.parametrize("size", ["size=1m", "size=1000k", "filesize=1m"])
@pytest.mark.parametrize("share", ["io_size=50%", "io_limit=33%", "io_size=100%"])
def test_a_share_of_the_size_was_no_amount_of_io(tmp_path: Path, size: str, share: str) -> None:
    """Fio takes it (HOWTO, io_size), and a translation refused the job."""
    text = f"[one]\nrw=read\nbs=4k\nfilename=a\n{size}\n{share}\n"
    (whole,) = fios(text, tmp_path)
    ((words,), _notes) = ours(text)
    (end,) = [one.partition("=")[2] for one in words if one.startswith("--stop-bytes=")]
    assert read_fio_size("size", end) == sum(one.length for one in whole)


def test_a_share_of_a_size_that_nobody_says_and_none_at_all_were_ends() -> None:
    def ends(more: str) -> tuple[bool, list[str]]:
        ((words,), notes) = ours(f"[one]\nrw=read\nfilename=a\n{more}\n")
        told = [one.setting for one in notes if one.setting in ("io_size", "time_based")]
        return any(one.startswith("--stop") for one in words), told

    assert ends("io_size=50%") == (False, ["io_size"])
    assert ends("size=50%\nio_size=50%") == (False, ["io_size"])
    # To fio none was given, and the job ends with its size.
    for none in ("io_size=0", "io_size=0%", ""):
        assert ends(f"size=1m\n{none}") == (False, ["time_based"])


@needs_fio
@pytest.mark.parametrize("size", ["4k", "4kb", "4ki", "4kib", "8KiB", "1MiB", "0x2000"])
def test_sizes_in_kib_were_those_of_ki_which_fio_takes_for_others(
    tmp_path: Path, size: str
) -> None:
    """Fio prints what it takes a size for: by default its KiB is 1000 bytes, and its k 1024."""
    text = f"[one]\nrw=read\nbs={size}\nfilename=a\nsize=4m\nnumber_ios=3\n"
    (whole,) = fios(text, tmp_path)
    assert {one.length for one in whole} == {read_fio_size("bs", size)}


@needs_fio
@pytest.mark.parametrize("rw", ["read:4k", "read", "read:-2k"])
@pytest.mark.parametrize("more", ["size=1m", "offset=1m", "size=100k\noffset=64k"])
@pytest.mark.parametrize("end", ["number_ios=200", "number_ios=20", "io_size=2m"])
def test_a_walk_that_has_ended_began_again_without_io_size(
    tmp_path: Path, rw: str, more: str, end: str
) -> None:
    """There and back again is the same load, or a note says that it is not."""
    text = f"[one]\nrw={rw}\nbs=8k\nioengine=psync\ninvalidate=0\nfilename=a\n{more}\n{end}\n"
    (whole,) = fios(text, tmp_path)
    (line,), notes = ours(text)
    assert ("--stop-pass" in line) == (end != "io_size=2m" and (rw, more[:4]) != ("read", "size"))
    if notes:
        assert {one.setting for one in notes} <= {"size", "rw"}
        return
    back, changed = to_fio(read_load(line))
    if not any(one.changes_load for one in changed):
        assert run_jobs(back, tmp_path) == [whole]


def test_a_block_beyond_the_end_of_the_range_was_left_out_without_a_word() -> None:
    """Fio begins one wherever a byte is left: 11 blocks of 12 KiB in 130 KiB, DiskSpd 10."""

    def told(more: str) -> list[str]:
        text = f"[one]\nrw=write\nfilename=a\ninvalidate=0\nruntime=5\ntime_based\n{more}\n"
        return [one.setting for one in ours(text)[1]]

    assert told("bs=12k\nsize=130k") == ["size"]
    assert told("bs=12k\nsize=130k\noffset=100k") == ["size"]
    assert told("bs=12k\nsize=120k") == []
    assert told("bs=12k\nfilesize=130k") == []
    assert told("rw=randwrite\nnorandommap\nbs=12k\nsize=130k") == []
    assert told("rw=write:4k\nbs=8k\nsize=1m") == ["size"]
    assert told("rw=write:4k\nbs=8k\nsize=1020k") == []


@needs_fio
@pytest.mark.parametrize("more", ["offset=64k", "offset=0", "", "numjobs=2\noffset_increment=64k"])
def test_blocks_that_overlap_behind_0_are_noted_as_fio_begins_at_the_other_end(
    tmp_path: Path, more: str
) -> None:
    text = f"[one]\nrw=read:-2k\nbs=8k\nfilename=a\nsize=1m\ninvalidate=0\n{more}\n"
    (ios,) = fios(f"{text}number_ios=4\nio_size=100m\n", tmp_path)
    begins_late = max(one.offset for one in ios) > 900 * KIB
    noted = any("near the end" in str(one) for one in ours(text)[1])
    assert noted == begins_late
