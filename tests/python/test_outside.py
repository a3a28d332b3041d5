"""What comes from outside: no size, pipe, device or wrong word is more than one clear error."""

from __future__ import annotations

import json
import os
import stat
import string
from typing import TYPE_CHECKING

import pytest
from fathom._files import read_bytes, replacing
from fathom.cli import app
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reported import called
from typer.testing import CliRunner, Result

if TYPE_CHECKING:
    from pathlib import Path

FEW = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
EXIT_FAILED, EXIT_INVALID = 1, 3
WORDS = st.text(st.sampled_from(string.printable + "\x1b\u202e\xe9"), max_size=12)
AXIS = st.text(st.sampled_from("0123456789KMGT.,-=: x"), max_size=10) | WORDS


def told(*arguments: str | Path) -> Result:
    """Run a command, which may fail, but only in words."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert "Traceback" not in done.output
    return done


def refused(*arguments: str | Path) -> str:
    """Run a command that must be refused, and return its words."""
    done = told(*arguments)
    assert done.exit_code in (EXIT_FAILED, EXIT_INVALID), done.output
    return " ".join(done.output.split())


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, Path]:
    """Return a pipe that nobody writes to, a link to a device, and a sparse file of 10 GiB."""
    found = {name: tmp_path / f"{name}.toml" for name in ("pipe", "link", "sparse")}
    os.mkfifo(found["pipe"])
    found["link"].symlink_to("/dev/zero")
    with found["sparse"].open("wb") as file:
        file.truncate(10 << 30)
    return found


@pytest.mark.parametrize("kind", ["pipe", "link", "sparse"])
def test_what_is_no_file_of_its_kind_is_refused_unread(odd: dict[str, Path], kind: str) -> None:
    """A pipe does not hang, a device does not fill memory, and 10 GiB are not read."""
    with pytest.raises(OSError, match=r"no file|none of its kind"):
        read_bytes(odd[kind], most_mib=16)
    words = "10,240 MiB" if kind == "sparse" else "a pipe, a socket or a device"
    assert words in refused("import", odd[kind])
    if kind != "sparse":
        assert words in refused("list", "--store", odd[kind])


def test_a_store_is_replaced_by_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A report or an export takes no store's place, whatever is given: its runs would be lost."""
    place = tmp_path / "results.sqlite"
    target = tmp_path / "t.dat"
    target.write_bytes(bytes(1 << 20))
    load = ["-d1", "-W0", "--stop-ios=64", "-b4K"]
    assert told("run", "--store", place, *load, target).exit_code == 0
    before = place.read_bytes()
    for command in (
        ["report", "1", "--format", "html", "--force"],
        ["export", "1", "--format", "csv", "--overwrite"],
        ["export", "1", "--format", "fio", "--overwrite"],
    ):
        names = ["--store", str(place), "-o", str(place)]
        assert called(monkeypatch, *command, *names) != 0
        assert "is not replaced" in " ".join(capfd.readouterr().err.split()), command
    assert place.read_bytes() == before


def test_a_report_whose_place_is_taken_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What was a traceback says what stands there and what to do."""
    place, notes = str(tmp_path / "results.sqlite"), tmp_path / "notes.html"
    target = tmp_path / "t.dat"
    target.write_bytes(bytes(1 << 20))
    load = ["-d1", "-W0", "--stop-ios=64", "-b4K"]
    assert told("run", "--store", place, *load, target).exit_code == 0
    notes.write_text("mine")
    capfd.readouterr()
    command = ["report", "1", "--store", place, "-o", str(notes)]
    assert called(monkeypatch, *command) == EXIT_FAILED
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"error: {notes} exists")
    assert line.endswith("--overwrite")
    assert notes.read_text() == "mine"


def test_a_workload_file_that_is_a_pipe_is_refused(odd: dict[str, Path]) -> None:
    """The reader of workloads does not wait for somebody to write it."""
    from fathom.workloads.workload import WorkloadError, read_workload  # noqa: PLC0415

    with pytest.raises(WorkloadError, match="pipe"):
        read_workload(odd["pipe"])


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    """Whoever reads the old file goes on reading it; a failure leaves it; permissions stay."""
    place = tmp_path / "result.json"
    place.write_text("old")
    place.chmod(0o640)
    with pytest.raises(TypeError), replacing(place) as unfinished:
        unfinished.write_text(None)  # type: ignore[arg-type]
    assert place.read_text() == "old"
    with place.open() as reader:
        with replacing(place) as unfinished:
            unfinished.write_text("new")
        assert reader.read() == "old"
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


def test_what_a_killed_process_left_is_removed_and_what_lives_is_not(tmp_path: Path) -> None:
    """The lock of an unfinished file tells whether its process is gone."""
    left = tmp_path / ".fathom-unfinished-0a1b2c3d-left_one"
    left.write_text("half")
    with replacing(tmp_path / "a") as first:
        assert not left.exists()
        with replacing(tmp_path / "b") as second:
            second.write_text("b")
        assert len(list(tmp_path.glob(".fathom-unfinished-*"))) == 1
        first.write_text("a")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("how", ["link", "gone"])
def test_a_link_planted_in_a_shared_folder_is_not_written_through(tmp_path: Path, how: str) -> None:
    """Who may write to the folder leads what is written nowhere else, and is told about."""
    (victim := tmp_path / "victim").write_text("precious")
    (place := tmp_path / "result.json").write_text("old")

    def overtaken() -> None:
        with replacing(place) as unfinished:
            (found,) = tmp_path.glob(".fathom-unfinished-*")
            found.unlink()
            if how == "link":
                found.symlink_to(victim)
            unfinished.write_text("new")

    with pytest.raises(OSError, match="another process took"):
        overtaken()
    assert (victim.read_text(), place.read_text()) == ("precious", "old")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["result.json", "victim"]


def test_a_device_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    """Root may rename over a node: an output that is no file is refused."""
    node = tmp_path / "node.json"
    os.mkfifo(node)
    with pytest.raises(OSError, match="pipe"), replacing(node):
        pass
    assert stat.S_ISFIFO(node.stat().st_mode)


@FEW
@given(axis=AXIS.filter(lambda one: not one.startswith("-")))
def test_axes_are_parsed_or_refused_in_words(axis: str) -> None:
    """No text of an axis ends in a traceback."""
    import fathom  # noqa: PLC0415
    from fathom.experiments.axes import parse_axes  # noqa: PLC0415

    for name in ("block", "depth", "threads", "write"):
        try:
            found = parse_axes({name: axis})
        except fathom.InvalidRequestError:
            continue
        assert found[0].values


@FEW
@given(text=st.binary(max_size=80) | st.text(st.sampled_from('ab=[]"\n1.{},'), max_size=60))
def test_workload_files_are_data(tmp_path: Path, text: bytes | str) -> None:
    """Any bytes are a workload or one error that names the file."""
    from fathom.workloads.workload import WorkloadError, read_workload  # noqa: PLC0415

    place = tmp_path / "drawn.toml"
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(WorkloadError, match=r"drawn\.toml"):
        read_workload(place)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            WORDS | st.sampled_from(["result", "summary", "schema_version", "profile"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@FEW
@given(data=JSON | st.binary(max_size=60))
def test_result_files_are_data(tmp_path: Path, data: object) -> None:
    """Any JSON and any bytes given to a report are refused in words that name the file."""
    from fathom.report import ReportError, gather  # noqa: PLC0415

    place = tmp_path / "drawn.json"
    place.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    with pytest.raises(ReportError, match=r"drawn\.json"):
        gather(None, [str(place)])


@FEW
@given(expression=WORDS, name=WORDS)
def test_conditions_and_names_are_refused_in_words(expression: str, name: str) -> None:
    """Conditions of --fail-if, references and names of baselines meet an empty store."""
    refused("compare", f"--fail-if={expression}", "--", name or "x", "y")


@FEW
@given(
    url=WORDS.map(lambda one: f"postgresql://127.0.0.1:1/{one}")
    | WORDS.map(lambda one: f"{one}://x")
)
def test_addresses_of_stores_are_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    """A wrong address of a store is one error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "1")
    told("list", "--store", url)
