"""What holds serial numbers, host names and command lines is its owner's alone."""

from __future__ import annotations

import os
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom.runners.saving import save_run
from fathom.store import NotSavedError, Store
from store_worker import RESULT

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_break_12_stores_reports_rescues_and_exports_are_their_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "folder" / "store.sqlite"
    monkeypatch.setenv("FATHOM_STORE", str(path))
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    try:
        with Store() as store:
            store.runs.save(RESULT, ["-b4K", "x.dat"])
            # While it is open, SQLite keeps these beside it.
            assert {mode(one) for one in path.parent.iterdir()} == {0o600}
            assert len([*path.parent.iterdir()]) == 3
            assert {mode(path.parent), mode(path.parent.parent)} == {0o700}
            path.rename(path.with_suffix(".away"))
            with pytest.raises(NotSavedError) as told:
                save_run(store, RESULT, ["x"])
            path.with_suffix(".away").rename(path)
        assert told.value.rescue is not None
        made = [told.value.rescue]
        for verb, form in (
            *(("export", one) for one in ("csv", "json", "xlsx", "parquet", "fio", "xml")),
            *(("report", one) for one in ("html", "md", "pdf", "png", "svg")),
        ):
            out = tmp_path / f"out-{verb}.{form}"
            words = ["1", "--format", form, "-o", str(out)]
            done = command(verb, *words, umask=0o022)
            assert done.returncode == 0, done.stderr
            made += [one for one in (out, *out.glob("*")) if one.is_file()]
        assert len(made) >= 12
        assert {one.name: mode(one) for one in made if mode(one) != 0o600} == {}
    finally:
        os.umask(before)


def test_a_store_that_is_shared_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    path.chmod(0o660)
    with closing(Store(path)) as store:
        store.runs.save(RESULT, ["x"])
    assert mode(path) == 0o660
