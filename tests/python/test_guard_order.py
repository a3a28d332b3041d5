"""An error never hides a refusal: who mends the error would only be refused next."""

from __future__ import annotations

import resource
import subprocess
from functools import partial
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom import FathomError, RefusedError
from support import diskspd

if TYPE_CHECKING:
    from pathlib import Path

_WORDS = b"Dear Ada, the engine weaves patterns just as the loom weaves flowers.\n" * 100
# What is wrong, and how that is reported.
_WRONG = {
    "-b64K": "The file is too small",
    "-B1M": "is not before the end of its range",
    "-b1000 -Su": "I/O past the page cache needs",
    "-Sr": "local caching can only be disabled",
    "-a200": "200",
    "-b4K --json=/nowhere/r.json": "cannot write the JSON result",
    "-Z64K,/nowhere/feed": "cannot be read",
}


def _command(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [diskspd(), "-d1", "-W0", *words, path], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("words", _WRONG)
@pytest.mark.parametrize("explain", [(), ("--explain",)], ids=["run", "explain"])
def test_a_refusal_is_told_beside_what_else_is_wrong(
    words: str, explain: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(_WORDS)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    done = _command(path, "-w100", *words.split(), *explain)
    assert done.returncode == 2, done.stderr
    assert f"REFUSED: {path}: the file looks like text" in done.stderr
    assert _WRONG[words] in done.stderr
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("words", _WRONG)
def test_what_is_wrong_with_a_file_of_ours_or_one_that_is_only_read_is_no_refusal(
    words: str, tmp_path: Path
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.write_bytes(_WORDS)
    fathom.run(["-c16K", "-w100", "-d1", "-W0", "--stop-ios=4", "-b4K", str(ours)])
    for path, share in ((theirs, "-w0"), (ours, "-w100")):
        done = _command(path, share, *words.split())
        assert done.returncode in (1, 3), done.stderr
        assert "REFUSED" not in done.stderr
        assert _WRONG[words] in done.stderr


def test_with_leave_to_overwrite_only_what_is_wrong_is_told(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(_WORDS)
    done = _command(path, "-w100", "-b64K", "--overwrite")
    assert (done.returncode, "REFUSED" in done.stderr) == (1, False), done.stderr
    assert path.read_bytes() == _WORDS


def test_one_wrong_target_does_not_hide_the_refusal_of_another(tmp_path: Path) -> None:
    path, missing = tmp_path / "theirs", tmp_path / "missing"
    path.write_bytes(_WORDS)
    done = _command(path, "-w100", "-b512", str(missing))
    assert done.returncode == 2, done.stderr
    assert f"REFUSED: {path}: " in done.stderr
    assert f"ERROR: the target '{missing}' does not exist" in done.stderr


def test_too_few_open_files_do_not_hide_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(_WORDS)
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64))
    words: list[str | Path] = [diskspd(), "-d1", "-W0", "-w100"]
    words += ["-b512", "-t80", "--engine=aio", path]
    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 2, done.stderr
    assert f"REFUSED: {path}: " in done.stderr


def test_python_raises_the_refusal_with_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(_WORDS)
    for call in (fathom.run, fathom.explain):
        with pytest.raises(RefusedError, match=r"looks like text(.|\n)*file is too small"):
            call(["-w100", "-b64K", "-d1", "-W0", str(path)])
    with pytest.raises(FathomError, match="too small") as told:
        fathom.run(["-w0", "-b64K", "-d1", "-W0", str(path)])
    assert not isinstance(told.value, RefusedError)
