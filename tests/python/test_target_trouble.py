"""A target that can never work ends a sweep or a tuning at the first run, with the reason."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from fathom.cli import main
from fathom.errors import TargetError
from fathom.experiments._target_trouble import refuse_a_bad_target
from fathom.store import Store

if TYPE_CHECKING:
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


def test_a_target_that_opens_is_not_to_blame(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(bytes(4096))
    # The load failed, and another may do.
    refuse_a_bad_target(["-b512", str(path)], "the disk said no")
    refuse_a_bad_target(["-b512", "-w50", "-c1M", str(tmp_path / "new.dat")], "the disk said no")
    assert not (tmp_path / "new.dat").exists()
    with pytest.raises(TargetError, match="the disk said no; no other load was tried"):
        refuse_a_bad_target(["-b512", str(path), str(tmp_path / "gone.dat")], "the disk said no")
