"""What the kernel tells in /proc, read from files like its own, and from this machine's."""

from __future__ import annotations

import os
from pathlib import Path

import fathom
import pytest
from fathom import _proc
from fathom._proc import Mount, boot_id, cpu_ticks, mounts, process_stat
from fathom.fleet import identity
from fathom.web.targets import targets


def mountinfo(proc: Path, *lines: str | bytes) -> Path:
    """Write the mounts of a process; return the folder that stands for /proc."""
    (proc / "self").mkdir(parents=True)
    whole = [one if isinstance(one, bytes) else one.encode() for one in lines]
    (proc / "self/mountinfo").write_bytes(b"".join(one + b"\n" for one in whole))
    return proc


def test_a_mount_is_read_with_all_its_parts(tmp_path: Path) -> None:
    # The example of proc(5), and one with a second optional field and without a source.
    proc = mountinfo(
        tmp_path,
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
        "37 35 0:41 / /none ro shared:1 master:2 - tmpfs  rw,size=4k",
    )
    assert [*mounts(proc)] == [
        Mount("98:0", "/mnt1", "/mnt2", "rw,noatime", "ext3", "/dev/root", "rw,errors=continue"),
        Mount("0:41", "/", "/none", "ro", "tmpfs", "", "rw,size=4k"),
    ]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (rb"/my\040disk", "/my disk"),
        (rb"/tab\011and\012line", "/tab\tand\nline"),
        # A backslash is one too, so that no name is read twice.
        (rb"/back\134040slash", r"/back\040slash"),
        # What no one calls a blank but Python does, and what it calls the end of a line.
        ("/no\u00a0break".encode(), "/no\u00a0break"),
        ("/line\u2028and\x0cpage".encode(), "/line\u2028and\x0cpage"),
        (b"/latin\xe9", os.fsdecode(b"/latin\xe9")),
        (rb"/plain\999", r"/plain\999"),
    ],
)
def test_any_name_is_that_of_the_folder(tmp_path: Path, written: bytes, name: str) -> None:
    line = b"9 1 8:1 %b %b rw - ext4 //server/%b rw" % (written, written, b"my\\040share")
    proc = mountinfo(tmp_path, line, "10 1 8:2 / /next rw - xfs /dev/b rw")
    first, second = mounts(proc)
    assert (first.root, first.place, first.source) == (name, name, "//server/my share")
    assert second.place == "/next"


def test_lines_without_their_fields_and_kernels_without_mounts_tell_nothing(tmp_path: Path) -> None:
    assert [*mounts(tmp_path / "none")] == []
    assert [*mounts(mountinfo(tmp_path, "", "9 1 8:1", "9 1 - ext4 /dev/b rw"))] == []


def test_a_share_with_a_blank_in_its_name_is_one_for_all_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.dat"
    file.touch()
    device = file.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    proc = mountinfo(tmp_path, rf"9 1 {number} / /mnt rw - cifs //nas/my\040share rw")
    monkeypatch.setattr(identity, "mounts", lambda: mounts(proc))
    explained = {"targets": [{"path": str(file), "kind": "file"}]}
    monkeypatch.setattr(identity, "explain", lambda *_, **__: explained)
    asked = fathom.parse(["-d1", str(file)]).to_json()
    told = identity.explained_targets(asked, overwrite=False, allow_write=[])
    assert told["targets"][0]["identity"] == f"cifs //nas/my share {file.stat().st_ino}"


def test_folders_with_blanks_are_offered_and_those_without_words_are_not(tmp_path: Path) -> None:
    blank, wordless = tmp_path / "my disk", tmp_path / os.fsdecode(b"latin\xe9")
    blank.mkdir()
    wordless.mkdir()
    escaped = os.fsencode(blank).replace(b" ", rb"\040")
    mountinfo(
        tmp_path / "proc",
        b"8 1 0:8 / %b rw - tmpfs none rw" % escaped,
        b"9 1 0:9 / %b rw - tmpfs none rw" % os.fsencode(wordless),
        # Of a file system that is mounted for reading alone, in either way.
        b"10 1 0:9 / %b ro - tmpfs none rw" % os.fsencode(tmp_path),
        b"11 1 0:9 / %b rw - tmpfs none ro" % os.fsencode(tmp_path),
    )
    assert [one.path for one in targets(tmp_path)] == [str(blank)]


def test_a_process_whose_name_has_brackets_and_blanks_has_its_fields(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text("7 (a) b (c)) S 1 2 3\n")
    assert process_stat(7, tmp_path) == ["S", "1", "2", "3"]
    assert process_stat(8, tmp_path) == []


def test_only_single_cpus_are_told(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  9 9 9 9\ncpu0 1 2 3 4\ncpu12 5 6 7 8\nintr 4\nctxt 5\n")
    assert cpu_ticks(tmp_path) == {0: [1, 2, 3, 4], 12: [5, 6, 7, 8]}
    assert cpu_ticks(tmp_path / "none") == {}


def test_this_machine_tells_all_of_it() -> None:
    assert "/" in {one.place for one in mounts()}
    assert boot_id()
    assert process_stat(os.getpid())[0] == "R"
    assert cpu_ticks()


def test_no_other_file_reads_mounts() -> None:
    package = Path(_proc.__file__).parent
    readers = [one.name for one in package.rglob("*.py") if "self/mount" in one.read_text()]
    assert readers == ["_proc.py"]
