"""A target that can never work ends a sweep or a tuning at the first run, with the reason."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom.cli import main
from fathom.errors import TargetError
from fathom.experiments._target_trouble import refuse_a_bad_target
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("verb", ["sweep", "tune"])
@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("missing.dat", (), "does not exist"),
        ("folder", (), "is a directory"),
        ("missing/x.dat", ("-c1M",), "missing"),
    ],
)
def test_nothing_is_tried_behind_the_first_run(  # noqa: PLR0913, PLR0917 - Cases and fixtures.
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    name: str,
    more: tuple[str, ...],
    words: str,
) -> None:
    (tmp_path / "folder").mkdir()
    # It became unusable behind the look that a sweep has at it first.
    monkeypatch.setattr(f"fathom.cli.commands.{verb}.some_cannot_run", lambda *_: False)
    arguments = ["--depth", "1..64", "-b4K", "-r", *more, str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", ["fathom", verb, *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code
    told = capsys.readouterr().err
    assert words in told
    assert "no other load was tried" in told
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list()
        assert (experiment.state, len(store.runs.list()) <= 1) == ("failed", True)
        steps = store.experiments.get(experiment.id).steps
        assert sum(step.state == "failed" for step in steps) == 1


@pytest.mark.parametrize(
    ("verb", "module", "more"),
    [("repeat", "repeat", ()), ("compare", "_compare_turns", ("--run", "-o1", "-o2"))],
)
def test_a_repetition_that_failed_did_not_say_how_it_goes_on(  # noqa: PLR0913, PLR0917 - Cases.
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verb: str,
    module: str,
    more: tuple[str, ...],
) -> None:
    place = f"fathom.cli.commands.{module}.refuse_what_cannot_run"
    monkeypatch.setattr(place, lambda *_, **__: None)
    path, load = tmp_path / "x.dat", ("-b4K", "-d1", "-W0", "--stop-ios=9")
    monkeypatch.setattr(
        sys, "argv", ["fathom", verb, "--pilot", "2", "--most", "2", *more, *load, str(path)]
    )
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr().err
    assert "does not exist" in told
    assert told.endswith(f"; go on then with: fathom {verb} --resume e1\n")
    path.write_bytes(bytes(1 << 20))
    monkeypatch.setattr(sys, "argv", ["fathom", verb, "--resume", "e1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code, capsys.readouterr().err


def test_a_target_that_opens_is_not_to_blame(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(bytes(4096))
    # The load failed, and another may do.
    refuse_a_bad_target(["-b512", str(path)], "the disk said no")
    refuse_a_bad_target(["-b512", "-w50", "-c1M", str(tmp_path / "new.dat")], "the disk said no")
    assert not (tmp_path / "new.dat").exists()
    with pytest.raises(TargetError, match="the disk said no; no other load was tried"):
        refuse_a_bad_target(["-b512", str(path), str(tmp_path / "gone.dat")], "the disk said no")


_LOAD = "-b4K -r -d1 -W0"
_EXPERIMENTS: dict[str, Callable[[str, Path], object]] = {
    "repeat": lambda target, store: fathom.repeat(f"{_LOAD} {target}", store=store),
    "compare": lambda target, store: fathom.compare_interleaved(
        f"-t1 {_LOAD} {target}", f"-t2 {_LOAD} {target}", store=store
    ),
    "sweep": lambda target, store: fathom.sweep(f"-b4K -r {target}", {"depth": "1,2"}, store=store),
    "tune": lambda target, store: fathom.tune(f"-b4K -r {target}", store=store),
}
_VERBS = {
    "repeat": _LOAD,
    "compare": f"--run -t1 -t2 {_LOAD}",
    "sweep": "--depth 1,2 -b4K -r",
    "tune": "-b4K -r",
    "scale": f"--fleet local:2 --duration 1 {_LOAD}",
    "assess": "--quick",
}


@pytest.mark.parametrize("experiment", _EXPERIMENTS)
@pytest.mark.parametrize("name", ["misspelt.dat", "none/x.dat", "/dev/misspelt", "/dev/null", "."])
def test_a_misspelt_target_is_an_error_before_anything_is_measured_or_saved(
    tmp_path: Path, experiment: str, name: str
) -> None:
    store = tmp_path / "s.sqlite"
    with pytest.raises(TargetError, match="target") as raised:
        _EXPERIMENTS[experiment](str(tmp_path / name), store)
    # Whoever asks for wrong requests gets it, too.
    assert isinstance(raised.value, fathom.InvalidRequestError)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("verb", _VERBS)
def test_a_misspelt_target_ends_each_command_with_the_same_exit_code(
    tmp_path: Path, verb: str
) -> None:
    done = command(verb, *_VERBS[verb].split(), tmp_path / "misspelt.dat")
    assert done.returncode == 3, done.stderr
    assert "misspelt.dat" in done.stderr
    assert [*tmp_path.iterdir()] == []
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert (store.experiments.list(), store.runs.list()) == ([], [])


def test_a_load_that_is_wrong_for_a_target_is_not_the_targets_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(bytes(4096))
    with pytest.raises(fathom.InvalidRequestError) as raised:
        fathom.repeat(f"-b64K -d1 -W0 {path}", store=tmp_path / "s.sqlite")
    assert not isinstance(raised.value, TargetError)


def test_a_file_that_would_lose_data_is_refused_before_anything_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "theirs.dat"
    path.write_bytes(b"do not lose me\n" * 4096)
    with pytest.raises(fathom.RefusedError, match=str(path)):
        fathom.repeat(f"-w100 {_LOAD} {path}", store=tmp_path / "s.sqlite")
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_of_no_kind_that_holds_data_is_to_blame(tmp_path: Path) -> None:
    with pytest.raises(TargetError):
        refuse_a_bad_target(["-b4K", "/dev/null"], "it is a character device")
    (tmp_path / "file").touch()
    with pytest.raises(TargetError):
        refuse_a_bad_target(["-b4K", "-c1M", str(tmp_path / "file" / "x.dat")], "no folder")
