"""Configurations of Iometer as loads of DiskSpd: each line of arguments is one the engine takes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from commands import command
from fathom import InvalidRequestError
from fathom.tools import from_iometer, iometer_terms, read_load
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

# Nothing is written into the checkout.
set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "fathom-hypothesis")
DATA = Path(__file__).parent / "data/import"
PLAIN = (DATA / "iometer.icf").read_text()
RICH = (DATA / "iometer-1.1-all-in-one.icf").read_text()


def lines(text: str) -> list[str]:
    """Return the loads, each as one line of arguments."""
    return [" ".join(line) for line in from_iometer(text).command_lines]


def test_each_access_specification_is_a_load_with_workers_as_threads() -> None:
    common = "-t2 -o16 -Su -L -d30 -W5 iobw.tst"
    assert lines(PLAIN)[:2] == [f"-b4096 -w25 {common}", f"-b8192 -w30 -r512 {common}"]
    notes = {note.setting: note for note in from_iometer(PLAIN).notes}
    # Reads in random order among writes one after the other: no single load of DiskSpd.
    assert notes["Mixed"].changes_load
    assert "none is assigned" in notes["Disk Targets"].words


def test_a_worker_has_its_own_place_depth_and_specification() -> None:
    found = from_iometer(RICH)
    # Only what is assigned to a worker runs; 64 sectors are 32 KiB, and 1024 end at 544 KiB.
    assert [line[:2] for line in found.command_lines] == [
        ["-b512", "-w0"],
        ["-b512", "-w25"],
        ["-b4096", "-w0"],
        ["-b4096", "-w50"],
    ]
    assert all({"-o8", "-B32768", "-f557056"} < set(line) for line in found.command_lines)
    # Aligned at 4096 bytes of 4096: that is -r alone.
    assert "-r" in found.command_lines[2]
    assert [note.setting for note in found.notes if note.changes_load] == ["All in one"]


def test_sizes_that_differ_alone_are_one_mix() -> None:
    text = RICH.replace("512,4,75,0,0,1,0,0", "4096,3,100,0,0,1,0,0")
    text = text.replace("4096,4,100,100,0,1,4096,0", "65536,93,100,0,0,1,0,0")
    text = text.replace("\t4096,4,50,100,0,1,4096,0\n", "")
    (line,) = from_iometer(text).command_lines
    assert line[:3] == ["-b65536", "--block-mix=512:4,4096:3,65536:93", "-w0"]


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("C: System", "C:\\iobw.tst"),
        ("PHYSICALDRIVE:3 ATA X", "#3"),
        ("/dev/sdb [ext3]", "/dev/sdb"),
    ],
)
def test_targets_are_named_as_diskspd_names_them(target: str, path: str) -> None:
    text = RICH.replace("TEST: Synthetic Disk", target)
    assert {line[-1] for line in from_iometer(text).command_lines} == {path}


def test_two_workers_at_a_target_are_two_threads_and_delays_are_bursts() -> None:
    worker = RICH[RICH.index("'Worker\n") : RICH.index("'End manager")]
    text = RICH.replace(worker, worker * 2).replace("512,4,100,0,0,1,0,0", "512,4,100,30,7,5,0,0")
    first = from_iometer(text).command_lines[0]
    assert first[:7] == ["-b512", "-w0", "-r", "-rs30", "-i5", "-j7", "-t2"]
    other = text.replace("8,ENABLED", "9,ENABLED", 1)
    notes = [note.setting for note in from_iometer(other).notes if note.changes_load]
    assert "# of Outstanding I/Os" in notes


@pytest.mark.filterwarnings("ignore:target access pattern will not be sequential")
def test_the_terms_come_back() -> None:
    for line in from_iometer(PLAIN).command_lines[:2]:
        terms, notes = iometer_terms(read_load(line))
        assert "# of Outstanding I/Os: 16" in terms
        assert not [note for note in notes if note.changes_load]


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        ("-r -w40 --read-block-mix=4K:100 --write-block-mix=8K:100 x", "--read-block-mix"),
        ("-r -w40 --compress=50 x", "--compress"),
        ("-r -w40 --dedupe=0 x", "--dedupe"),
        ("-r -B1000 x", "-B"),
        ("-r -F2 -O4 x y", "-O"),
    ],
)
def test_what_iometer_cannot_say_was_left_out_in_silence(arguments: str, setting: str) -> None:
    _, notes = iometer_terms(read_load(f"-Su {arguments}".split()))
    assert setting in [note.setting for note in notes if note.changes_load]


def test_data_and_what_surrounds_a_load_had_no_words_of_iometer() -> None:
    for option, kind in (("-Z", "Repeating bytes"), ("-Z1M", "Pseudo random")):
        terms, _ = iometer_terms(read_load(["-Su", "-w100", option, "x"]))
        assert f"Write IO Data Pattern: {kind}\n" in terms
    terms, notes = iometer_terms(
        read_load(["-Su", "-r", "-w9", "-Zr", "-a0", "-l", "-I1", "-F2", "x", "y"])
    )
    assert "Write IO Data Pattern: Full random\n" in terms
    assert [note.setting for note in notes] == ["-F", "-a", "-l", "-I"]
    assert not any(note.changes_load for note in notes)


def test_the_command_reads_a_configuration_and_tells_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "old.icf"
    path.write_text(PLAIN)
    done = command("translate", path)
    assert done.returncode == 0
    assert done.stdout.startswith("diskspd -b4K -s -w25 -t2 -o16 -Su -d30 -W5 -L iobw.tst\n")
    assert done.stdout.count("diskspd ") == 4
    assert "Mixed: mixes 2 lines" in done.stderr
    strict = command("translate", "--strict", "--json", "--to", "fio", path)
    assert strict.returncode == 3
    assert "bs=8k" in json.dumps(json.loads(strict.stdout)) or "bs=8192" in strict.stdout


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_configuration_is_read_or_refused_in_words(data: st.DataObject) -> None:
    text = RICH
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.integers(0, 200))
        text = text[:start] + data.draw(st.text(max_size=12)) + text[end:]
    try:
        found = from_iometer(text)
    except InvalidRequestError as error:
        words = f"{error}"
    else:
        words = "access specification"
        assert all(line[0].startswith("-b") for line in found.command_lines)
    assert "access specification" in words
