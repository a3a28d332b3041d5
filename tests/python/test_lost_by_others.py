"""What somebody wrote, typed or is called goes neither lost nor out by a command of Fathom's."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom import RefusedError
from fathom._own_stores import is_nearly_an_address
from fathom._redact import Pseudonyms
from fathom.cli import app
from fathom.report.collect.gather import ReportError
from fathom.report.render.write import marked_png, sealed, write
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

_THEIRS = b"The thesis, of which there is no other copy. " * 400


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _fails(*arguments: str) -> str:
    found = CliRunner().invoke(app, [*arguments])
    assert found.exit_code != 0
    return f"{found.output}{found.exception}"


def test_what_was_written_behind_the_look_is_not_adopted(tmp_path: Path) -> None:
    from fathom.experiments.prepare import adopt, seen  # noqa: PLC0415 - Loads NumPy.

    path = tmp_path / "theirs"

    def written() -> None:
        path.write_bytes(_THEIRS)

    def written_with_the_old_times() -> None:
        before = path.stat()
        path.write_bytes(b"N" * before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def replaced() -> None:
        (tmp_path / "other").write_bytes(_THEIRS)
        (tmp_path / "other").rename(path)

    for change in (written, written_with_the_old_times, replaced):
        path.write_bytes(b"old scratch text " * 4000)
        shown = seen(path)
        change()
        after = path.read_bytes()
        with pytest.raises(RefusedError, match="after it was shown"):
            adopt(path, lose="theirs", shown=shown)
        with pytest.raises(RefusedError):
            fathom.run(["-w100", "-d1", "-W0", str(path)])
        assert path.read_bytes() == after
    adopt(path, lose="theirs", shown=seen(path))
    fathom.run(["-w100", "-d1", "-W0", "-b4K", "--stop-ios=1", str(path)])


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--no-save", "-w100", "-d1", "-W0", "--"],
        ["run", "--no-save", "sql-oltp-70", "-d1", "-W0", "--"],
        ["repeat", "-w100", "-d1", "-W0", "--"],
        ["compare", "--run", "-o1", "-o2", "-w100", "-d1", "-W0", "--"],
    ],
    ids=["run", "workload", "repeat", "compare"],
)
def test_a_file_named_like_a_permission_gives_none(tmp_path: Path, words: list[str]) -> None:
    names = ("--overwrite", "db.dat")
    for name in names:
        (tmp_path / name).write_bytes(_THEIRS)
    told = _fails(*words, *names, *(() if "--no-save" in words else ("--store", "s.sqlite")))
    assert [(tmp_path / name).read_bytes() for name in names] == [_THEIRS, _THEIRS], told


def test_behind_two_dashes_the_engine_takes_paths_alone() -> None:
    found = fathom.parse(["-b8K", "--", "-w100", "x.dat"])["time_spans"][0]["targets"]
    assert [one["path"] for one in found] == ["-w100", "x.dat"]
    assert {one["block_bytes"] for one in found} == {8192}


@pytest.mark.parametrize(
    "content",
    [
        b"# A report\n",
        b"<!doctype html><p>A report",
        b"%PDF-1.7\n%%EOF\n% Made by Fathom\n",
        marked_png(b"\x89PNG\r\n\x1a\n" + bytes(25) + b"data" + bytes(12), "a report"),
    ],
    ids=["md", "html", "pdf", "png"],
)
def test_an_edited_report_is_not_written_over(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "report"
    write(path, content)
    write(path, content)
    made = path.read_bytes()
    edits = (
        made + b"Ada's paragraph\n",
        b"Ada's" + made,
        made.replace(b"data", b"note"),
        content,
    )
    for edited in edits:
        path.write_bytes(edited)
        if edited != made:
            with pytest.raises(ReportError, match="was edited since"):
                write(path, content)
            assert path.read_bytes() == edited
    write(path, content, force=True)
    assert path.read_bytes() == made == sealed(content)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:/u:S3CR@h/db",
        "postgresql//u:S3CR@h/db",
        "postgresql:u:S3CR@h/db",
        "u:S3CR@h/db",
        "u:S3CR@h/db://",
        "postgresql:///u:S3CR@h/db",
        "host=h port=1 password=S3CR",
        "host=h password = 'S3CR' x://",
        "PGPASSWORD=S3CR",
    ],
)
@pytest.mark.parametrize("verb", [["list"], ["report"], ["run", "-d1", "x.dat"]])
def test_a_mistyped_address_shows_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, verb: list[str]
) -> None:
    assert "S3CR" not in _fails(*verb, "--store", address)
    monkeypatch.setenv("FATHOM_STORE", address)
    assert "S3CR" not in _fails(*verb)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "name", ["runs.sqlite", "/srv/a b/2024-01.sqlite", "a:b", "~/x@y", "./p=q"]
)
def test_names_of_files_are_no_addresses(name: str) -> None:
    assert not is_nearly_an_address(name)


@pytest.mark.parametrize(
    "made",
    [
        "PRAGMA user_version = 7",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (x); DROP TABLE t",
        "PRAGMA application_id = 9",
    ],
)
def test_a_database_of_another_program_is_not_changed(tmp_path: Path, made: str) -> None:
    path = tmp_path / "theirs.db"
    connection = sqlite3.connect(path)
    connection.executescript(made)
    connection.close()
    before = path.read_bytes()
    assert "another program" in _fails("list", "--store", str(path))
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_labels_tell_no_host_and_no_user() -> None:
    names = Pseudonyms()
    row = {"label": "xVmada-7", "note": "of ada, on VM.", "name": "vm-base", "user": "ada"}
    names.learn_fields({**row, "host": {"name": "vm"}})
    told = names.data({**row, "words": "xVmada-7 is faster than vm_base"})
    for text in told.values():
        assert "vm" not in text.lower()
        assert "ada" not in text.lower()
    assert told["words"].startswith(told["label"])
    assert names.text("an nvme disk in Canada") == "an nvme disk in Canada"
