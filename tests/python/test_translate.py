"""Loads in the terms of DiskSpd, fio and Iometer, and what is reported where a term is missing."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import commands
import fathom
import pytest
from fathom.store import Store
from fathom.tools import (
    TERMS,
    Note,
    from_fio,
    iometer_terms,
    job_file,
    read_fio_arguments,
    read_job_file,
    read_load,
    terms_table,
    to_arguments,
    to_fio,
)
from fathom.tools.diskspd.write import words_of

if TYPE_CHECKING:
    import subprocess


def fio_of(arguments: str) -> tuple[dict[str, str], list[Note]]:
    jobs, notes = to_fio(read_load(shlex.split(arguments)))
    return dict(jobs[0].options), notes


def other_load(notes: list[Note]) -> list[str]:
    return [note.setting for note in notes if note.changes_load]


# Every setting of the engine's grammar that a command line can have, alone or with what it needs.
ROUND_TRIPS = [
    "-b4K -r -w30 -o8 -t2 -d5 -W1 -Sh -L x.dat",
    "-b8K -s16K -T1M -t4 -B1M:16M -d5 -fr x.dat",
    "-c1G -b64K -si -t4 -Su -D500 -C3 -z7 x.dat y.dat",
    "-r4K -b8K -rs70 -rdpct90/10:0/10:5/20 -w50 -Zr x.dat",
    "-r -rdabs90/1M:5/2M -Z1M -w100 -I1 -l x.dat",
    "-F3 -O8 -n x.dat y.dat",
    "-t2 -p -i10 -j5 -Z -Sw x.dat",
    "-Sm -Nv -w20 -a0,1 -g100 x.dat",
    "-x x.dat",
    "-g100i x.dat",
    "-r -w40 --fsync=32 --block-mix=4K:60,8K:40 --compress=50 --dedupe=20 --ratio=exact x.dat",
    "-w40 --read-pattern=random,align=4K --write-pattern=sequential,block=64K,range=0:1G x.dat",
    "-r -w40 --trim=5 --fdatasync=3 --read-block-mix=4K:100 --write-block-mix=8K:100 x.dat",
    "-u8 -oc4 -bsn x.dat",
    "-un50p --stop-steady=30:20:10 --stop-confidence=95:2 --stop-interval=100 x.dat",
    "--stop-ios=100 --stop-bytes=1M --stop-pass x.dat",
    "-r --skew=zipf:1.1 --engine=aio --rate=1000 --arrivals=poisson x.dat",
    "-ysmark -ag0,0,1 x.dat",
    "-acsE -:1 -vs x.dat",
    "-Z -Zr -w9 x.dat",
    "-Z1M -Zr -w9 x.dat",
    "-O4 -o9 -r x.dat",
    "-aup -v -P100 -Rxml x.dat",
    "-eDISK_IO -eMEMORY_HARD_FAULTS -eIMAGE_LOAD -eq -ep x.dat",
    "-ePROCESS -eTHREAD -eMEMORY_PAGE_FAULTS -eNETWORK -es x.dat",
    "--on-error=count=5 --io-timeout=0 x.dat",
    "--on-error=continue --reconnect=8 --connections=2 nbd://host/disk",
    "-c1M -r -w50 -Sh -L -D --verify --polled --interval-latency --remove-created x.dat",
    "-c1M -r -w50 -Sh --verify-journal=x.journal --sqpoll=1 x.dat",
]


@pytest.mark.filterwarnings("ignore:target access pattern will not be sequential")
@pytest.mark.parametrize("arguments", ROUND_TRIPS)
def test_a_profile_as_a_command_line_is_the_same_profile(arguments: str) -> None:
    load = read_load(shlex.split(arguments))
    lines, notes = to_arguments(load)
    again = read_load(lines[0])
    assert not other_load(notes)
    assert again.profile == load.profile
    assert again.options == load.options


def test_a_group_of_cpus_was_written_as_the_cpu_none(tmp_path: Path) -> None:
    path = tmp_path / "group.xml"
    one = fathom._fathom.profile_xml_of(["-a0", "x.dat"])
    path.write_text(re.sub(r"<Affin[^>]*/>", '<Group Group="0" Mask="0x0"/>', one))
    load = read_load([f"-X{path}"])
    assert load.profile["time_spans"][0]["cpus"] == [{"group": 0, "index": None}]
    lines, notes = to_arguments(load)
    assert read_load(lines[0]).profile["time_spans"][0]["cpus"] == []
    assert [one.setting for one in notes] == ["Affinity"]
    jobs, notes = to_fio(load)
    assert "cpus_allowed" not in dict(jobs[0].options)
    assert "-a" in [one.setting for one in notes]


def test_a_target_that_looks_like_an_option_was_written_as_one() -> None:
    load = read_load(["-b4K", "--", "-x", "#1"])
    (line,), _ = to_arguments(load)
    again = read_load(line).profile["time_spans"][0]
    assert [one["path"] for one in again["targets"]] == ["./-x", "#1"]
    assert not again["alternate_completion"]
    assert words_of(load.request)[-3:] == ["--", "-x", "#1"]


def test_files_that_are_made_before_all_spans_were_left_out_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "made.xml"
    one = fathom._fathom.profile_xml_of(["-c1M", "x.dat"])
    made = "<PrecreateFiles>UseMaxSize</PrecreateFiles><TimeSpans>"
    path.write_text(one.replace("<TimeSpans>", made))
    _, notes = to_arguments(read_load([f"-X{path}"]))
    assert [one.setting for one in notes] == ["PrecreateFiles"]


def test_a_profile_with_two_spans_and_unlike_targets_is_told(tmp_path: Path) -> None:
    one = fathom._fathom.profile_xml_of(["-b4K", "x.dat"])
    target = one[one.index("<Target>") : one.index("</Target>") + len("</Target>")]
    other = target.replace("4096", "8192", 1).replace("x.dat", "y.dat")
    path = tmp_path / "two.xml"
    path.write_text(one.replace(target, target + other))
    lines, notes = to_arguments(read_load([f"-X{path}"]))
    assert lines[0][-2:] == ["x.dat", "y.dat"]
    assert other_load(notes) == ["y.dat"]
    assert "block_bytes" in notes[0].words


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("-Sh x", {"direct": "1", "sync": "dsync"}),
        ("-Su x", {"direct": "1"}),
        ("-Sw x", {"direct": "0", "sync": "dsync"}),
        ("-o1 x", {"ioengine": "psync", "iodepth": "1"}),
        ("-o32 x", {"ioengine": "io_uring", "iodepth": "32"}),
        ("-o32 -x x", {"ioengine": "libaio"}),
        ("-r -w30 x", {"rw": "randrw", "rwmixwrite": "30", "norandommap": "1"}),
        ("-r -w100 x", {"rw": "randwrite"}),
        ("-W10 -d60 x", {"ramp_time": "10", "runtime": "60", "time_based": "1"}),
        ("-r -w30 -g1000i x", {"rate_iops": "700,300"}),
        ("-g100 x", {"rate": "100000"}),
        ("--rate=4000 -t4 x", {"rate_iops": "1000", "numjobs": "4"}),
        # One thread stands for the four of an interlocked walk, with the rate of all.
        ("-si -t4 -o2 -g100i x", {"rate_iops": "400", "numjobs": "1", "iodepth": "8"}),
        ("-i10 -j5 x", {"thinktime": "5ms", "thinktime_blocks": "10"}),
        ("-r --skew=zipf:1.1 x", {"random_distribution": "zipf:1.1"}),
        ("-D500 x", {"log_avg_msec": "500"}),
        ("-a0,1 x", {"cpus_allowed": "0,1", "cpus_allowed_policy": "split"}),
    ],
)
@pytest.mark.filterwarnings("ignore:target access pattern will not be sequential")
def test_a_setting_of_diskspd_is_this_in_fio(arguments: str, expected: dict[str, str]) -> None:
    options, _ = fio_of(arguments)
    assert options | expected == options


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        ("-C5 x", "-C"),
        ("-w30 x", "-w"),
        ("-r -w30 --ratio=exact x", "--ratio=exact"),
        ("-r -w30 --trim=5 x", "--trim"),
        ("-Sr x", "-Sr"),
        ("-Sm -Ni -w100 x", "-Ni"),
        ("-w100 -Z1M,data.bin x", "-Z"),
        ("-F2 x y", "-F"),
        ("--rate=100 -t3 -r x", "--rate"),
        ("-r -w33 -g10i x", "-g"),
        ("-r -rdabs90/1M x", "-rd"),
        ("-r --verify -w50 x", "--verify"),
        ("-r -w40 --write-pattern=sequential x", "--write-pattern"),
    ],
)
@pytest.mark.filterwarnings("ignore:target access pattern will not be sequential")
def test_what_fio_cannot_say_is_told(arguments: str, setting: str) -> None:
    _, notes = fio_of(arguments)
    assert setting in other_load(notes)


def test_a_note_stands_in_the_job_file_and_the_file_is_still_read() -> None:
    jobs, notes = to_fio(read_load(["-C5", "-b4K", "x", "y"]))
    text = job_file(jobs, notes)
    assert "# -C: fio has no load behind the measured time" in text
    assert read_job_file(text) == jobs


JOBS = """\
; a comment
[global]
ioengine=libaio
direct=1
bs=8k
runtime=2m
time_based
ramp_time=5s
norandommap

[reads]
rw=randread
iodepth=16
numjobs=4
filename=/data/a:/data/b\\:c
size=1g

[log]
stonewall
rw=write:8k
sync=1
filename=/data/log
time_based=0
number_ios=1000
vendor_option=7
"""


def test_a_job_file_of_fio_is_these_command_lines() -> None:
    found = from_fio(read_job_file(JOBS))
    reads, log = (" ".join(line) for line in found.command_lines)
    assert reads.endswith("/data/a /data/b:c")
    for option in ("-b8K", "-r", "-t4", "-o16", "--engine=aio", "-Su", "-d120", "-W5", "-f512M"):
        assert option in reads.split()
    for option in ("-b8K", "-s16K", "-w100", "-Sh", "--stop-ios=1000", "/data/log"):
        assert option in log.split()
    assert "vendor_option" in other_load(found.notes)
    # Each line is one that the engine takes.
    for line in found.command_lines:
        fathom.parse(line)


def test_the_same_jobs_as_a_command_line_of_fio() -> None:
    arguments = (
        "--ioengine=libaio --direct=1 --bs=8k --runtime=2m --time_based --ramp_time=5s "
        "--norandommap --name=reads --rw=randread --iodepth 16 --numjobs=4 "
        "--filename=/data/a:/data/b\\:c --size=1g --output-format=json"
    )
    (line,) = from_fio(read_fio_arguments(arguments.split(" "))).command_lines
    assert line == from_fio(read_job_file(JOBS)).command_lines[0]


@pytest.mark.parametrize(
    ("job", "setting"),
    [
        ("rw=randread", "norandommap"),
        ("rw=randread:8\nnorandommap", "rw"),
        ("rw=read\nsize=50%", "size"),
        ("rw=read\nioengine=rados", "ioengine"),
        ("rw=randrw\nnorandommap\nrate_iops=7,3", "rate_iops"),
        ("rw=read", "time_based"),
        ("rw=read\nbsrange=4k-64k", "bsrange"),
        ("rw=write\nbuffer_pattern=0xdeadbeef", "buffer_pattern"),
        ("rw=read\nnrfiles=8", "nrfiles"),
    ],
)
def test_what_diskspd_cannot_say_is_told(job: str, setting: str) -> None:
    found = from_fio(read_job_file(f"[one]\nfilename=x\n{job}\n"))
    assert setting in other_load(found.notes)
    fathom.parse(found.command_lines[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rw=read\n", "line 1"),
        ("[global]\nrw=read\n", "there is no job"),
        ("[a]\nrw=backwards\nfilename=x\n", "job a: rw"),
        ("[a]\nbs=4q\nfilename=x\n", "bs=4q"),
        ("[a]\nrw=randtrim\nfilename=x\n", "rw"),
        ("[a]\nruntime=soon\nfilename=x\n", "runtime=soon"),
        ("[a]\nioengine=libaio\niodepth=-3\nfilename=x\n", "iodepth=-3"),
        ("", "there is no job"),
        ("[a\nrw=read\n", "line 1"),
    ],
)
def test_a_job_file_that_is_wrong_is_refused_with_the_place(text: str, words: str) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=words):
        from_fio(read_job_file(text))


@pytest.mark.parametrize("path", ["a$b", " a", "a\nb"])
def test_a_name_that_fio_would_change_is_refused(path: str) -> None:
    with pytest.raises(fathom.InvalidRequestError, match="rename"):
        to_fio(read_load(["-b4K", path]))


def test_the_terms_of_iometer() -> None:
    text, notes = iometer_terms(read_load(shlex.split("-c1G -b8K -r -w30 -o16 -t2 -Su -d60 x")))
    terms = dict(line.split(": ", 1) for line in text.strip().splitlines())
    assert terms["# of Outstanding I/Os"] == "16"
    assert terms["Percent Read/Write Distribution"] == "70 % Read, 30 % Write"
    assert terms["Percent Random/Sequential Distribution"] == "100 % Random, 0 % Sequential"
    assert terms["Maximum Disk Size"] == "2097152 Sectors"
    assert not notes
    _, notes = iometer_terms(read_load(shlex.split("-r -g100i -Sw x")))
    assert other_load(notes) == ["-S", "-Sw", "-g"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_each_term_of_diskspd_in_the_table_is_one_of_its_options() -> None:
    for term in TERMS:
        options = term.diskspd.replace(" or ", " ").split()
        if not all(one.startswith("-") for one in options):
            continue
        if term.diskspd.startswith(("-u", "-x or")):
            options = options[:1]
        more = {"-T": ["-t2"], "-F": [], "--f": ["-w50"], "--c": ["-w50"], "--d": ["-w50"],
                "-rd": ["-r"], "-rs": ["-r"], "--s": ["-r"], "--a": ["--rate=9"]}  # fmt: skip
        needed = [one for key, ones in more.items() if options[0].startswith(key) for one in ones]
        fathom.parse([*options, *(one for one in needed if one not in options), "x"])


def test_the_page_for_those_who_come_from_fio_has_the_table_of_terms() -> None:
    page = Path(__file__).parents[2] / "docs/coming-from-fio.md"
    # scripts/write_terms.py writes it.
    assert page.read_text().endswith(terms_table())


def command(*arguments: str, verb: str = "translate") -> subprocess.CompletedProcess[str]:
    return commands.command(verb, *arguments)


def test_the_command_writes_the_file_to_standard_output_and_notes_beside_it(
    tmp_path: Path,
) -> None:
    done = command("-b8K", "-r", "-w30", "-C5", "-o8", "x.dat")
    (job,) = read_job_file(done.stdout)
    assert job.options["rw"] == "randrw"
    assert "not the same: -C:" in done.stderr
    assert command("--strict", "-b8K", "-C5", "x.dat").returncode == 3
    path = tmp_path / "job.fio"
    path.write_text(done.stdout)
    back = command(str(path))
    assert back.stdout.startswith("diskspd -b8K -r -w30 ")
    xml = command("--to", "xml", str(path)).stdout
    (tmp_path / "job.xml").write_text(xml)
    again = command("--to", "diskspd", str(tmp_path / "job.xml")).stdout
    assert fathom.parse(again.split()[1:]) == fathom.parse(back.stdout.split()[1:])


def test_the_command_as_json_and_with_arguments_of_fio() -> None:
    told = json.loads(command("--json", "fio", "--name=a", "--rw=randread", "--bs=4k").stdout)
    assert told["text"].startswith("diskspd -b4K -r ")
    assert "norandommap" in [note["setting"] for note in told["notes"]]
    terms = json.loads(command("--json").stdout)
    assert {"diskspd": "-o32", "fio": "iodepth=32"}.items() <= terms[2].items()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-b8Q", "x"], "-b8Q"),
        (["fio", "nowhere.fio"], "nowhere.fio"),
        (["fio", "--name=a", "read"], "read: not an option of fio"),
        (["--to", "iometer", "-b4K", "x"], "iometer"),
        ([str(Path(__file__).with_name("fio_traces.py"))], "neither a fio job file nor"),
        ([sys.executable], "larger than|no text"),
    ],
)
def test_the_command_refuses_what_it_cannot_read(arguments: list[str], words: str) -> None:
    done = command(*arguments)
    assert done.returncode == 3
    assert re.search(words, done.stderr)
    assert "Traceback" not in done.stderr


def test_the_load_of_a_saved_run_is_exported(tmp_path: Path) -> None:
    store = Store(None)
    arguments = ["-c64K", "-b4K", "-r", "-w30", "-o2", "-d1", "-W0", str(tmp_path / "scratch.dat")]
    with store:
        run_id = store.runs.save(fathom.run(arguments), arguments)
    done = command(str(run_id), "--format", "fio", verb="export")
    (job,) = read_job_file(done.stdout)
    assert (job.options["rw"], job.options["filename"]) == ("randrw", arguments[-1])
    assert "note: -w: fio does not look" in done.stderr
    line = command(str(run_id), "--format", "diskspd", verb="export").stdout
    assert fathom.parse(shlex.split(line)[1:]) == fathom.parse(arguments)
    path = tmp_path / "profile.xml"
    assert command(str(run_id), "--format", "xml", "-o", str(path), verb="export").returncode == 0
    assert fathom.parse([f"-X{path}"]) == fathom.parse(arguments)
    again = command(str(run_id), "--format", "xml", "-o", str(path), verb="export")
    assert (again.returncode, "--overwrite" in again.stderr) == (1, True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_profile_that_powershell_redirected_was_no_text(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "wide.xml"
    text = fathom._fathom.profile_xml_of(["-b4K", "größe.dat"])
    path.write_bytes(f"\n{text}".encode(encoding))
    if encoding.endswith("e"):
        # Without a mark it is known by its first character.
        path.write_bytes(text.encode(encoding))
    done = commands.command("translate", "--to", "diskspd", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("-W5 'größe.dat'\n")


def test_many_blank_lines_of_utf_16_took_minutes(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_bytes((" " * 200_000 + "\n[job]\nrw=read\nfilename=x.dat\n").encode("utf-16"))
    began_s = time.monotonic()
    done = commands.command("translate", "--to", "diskspd", path)
    assert time.monotonic() - began_s < 30
    assert done.stdout.endswith(" x.dat\n")


def test_a_profile_of_a_declared_code_page_was_no_text(tmp_path: Path) -> None:
    path = tmp_path / "page.xml"
    text = fathom._fathom.profile_xml_of(["-b4K", "größe.dat"])
    path.write_bytes(f'<?xml version="1.0" encoding="windows-1252"?>\n{text}'.encode("cp1252"))
    done = commands.command("translate", "--to", "diskspd", path)
    assert done.stdout.endswith("-W5 'größe.dat'\n")


def test_a_configuration_of_utf_16_was_no_text(tmp_path: Path) -> None:
    plain = Path(__file__).parent / "data/import/iometer.icf"
    wide = tmp_path / "wide.icf"
    wide.write_bytes(plain.read_text().encode("utf-16"))
    found = [commands.command("translate", path).stdout for path in (plain, wide)]
    assert found[0] == found[1] != ""


def test_a_count_of_ios_for_shared_targets_was_the_depth_of_threads_that_share_none() -> None:
    assert fio_of("-O4 -o9 -t2 -r x.dat")[0]["iodepth"] == "9"
    assert fio_of("-O4 -F2 -r x.dat")[0]["iodepth"] == "4"
    # One at a time needs no queue, and these are nine.
    assert fio_of("-O1 -o9 -r x.dat")[0]["ioengine"] == "io_uring"
