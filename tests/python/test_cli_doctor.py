"""``fathom doctor``: what is here, what is not, and the line that mends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import fathom._extras as extras
from fathom.cli.commands import doctor as _doctor

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CODE = "from fathom.cli import main; main()"


def test_each_part_says_what_it_is_for_and_each_lack_how_it_is_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_doctor, "missing_of", lambda extra: [*extras.EXTRAS[extra].modules])
    monkeypatch.setattr("fathom.cli.commands.doctor.shutil.which", lambda _name: None)
    found = {part.name: part for part in _doctor.parts()}
    assert {"io_uring", "libblkid", "fio", "Chromium", "extra pictures"} <= {*found}
    assert all(part.words for part in found.values())
    assert all(part.mend for part in found.values() if not part.is_here)
    assert found["extra xlsx"].mend == "pip install 'fathom-storage[xlsx]'"
    assert not found["fio"].is_here


def test_a_program_that_is_in_the_path_is_told_with_its_place(tmp_path: Path) -> None:
    fio = tmp_path / "fio"
    fio.write_text("#!/bin/sh\n")
    fio.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", CODE, "doctor", "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    found = {part["name"]: part for part in json.loads(done.stdout)}
    assert found["fio"]["is_here"]
    assert str(fio) in found["fio"]["words"]
    assert not found["Chromium"]["is_here"]
    assert found["Chromium"]["mend"]


def test_every_hint_to_install_names_our_own_distribution() -> None:
    assert all("fathom-storage[" in extras.install_line(extra) for extra in extras.EXTRAS)
    project = (extras.__file__ or "").split("python/fathom")[0] + "pyproject.toml"
    with open(project, encoding="utf-8") as stream:  # noqa: PTH123 - One line.
        text = stream.read()
    assert all(f"\n{extra} = [" in text for extra in extras.EXTRAS)
    assert f'\nname = "{extras.DISTRIBUTION}"\n' in text
