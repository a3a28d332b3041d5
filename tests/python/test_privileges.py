"""Verbs of the lab without what they need: docs/privileges.md says what a person is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from commands import COMMAND, command
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (`fathom [^|]*?) \| [^|]* \| `(.*)` \|$", re.MULTILINE)
_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# The same in a process that has loaded what another account loads, too.
_BECOME_NOBODY = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
_VERBS: dict[str, tuple[str, ...]] = {
    "`fathom prepare look`": ("prepare", "look", "secret.dat"),
    "`fathom prepare fill` of a new file": ("prepare", "fill", "--size", "1M", "new.dat"),
    "`fathom prepare fill`": ("prepare", "fill", "zeros.dat"),
    "`fathom prepare adopt`": ("prepare", "adopt", "--lose", "noise.dat", "noise.dat"),
    "`fathom assess` of a folder": ("assess", "."),
    "`fathom assess` of a file or device": ("assess", "secret.dat"),
    "`fathom list`, and all that uses the store": ("list", "--store", "closed/s.sqlite"),
}


def _rows() -> dict[str, str]:
    page = (ROOT / "docs/privileges.md").read_text()
    return dict(_ROW.findall(page))


def test_each_row_of_the_lab_is_run() -> None:
    assert sorted(_rows()) == sorted(_VERBS)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder of root's in which others may read."""
    if os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("only root can take privileges away, with setpriv")
    with TemporaryDirectory(prefix="fathom-privileges-") as name:
        Path(name).chmod(0o755)
        yield _filled(Path(name))


def _filled(folder: Path) -> Path:
    noise = os.urandom(1 << 20)
    for name, mode, data in (
        ("secret.dat", 0o600, noise),
        ("noise.dat", 0o644, noise),
        ("zeros.dat", 0o644, bytes(1 << 20)),
    ):
        (folder / name).write_bytes(data)
        (folder / name).chmod(mode)
    (folder / "closed").mkdir(mode=0o700)
    (folder / "home").mkdir()
    os.chown(folder / "home", 65534, 65534)
    return folder


def _as_nobody(folder: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    environment = _environment(folder)
    # Folders that are named to this process are closed to others.
    closed = "; [os.environ.pop(one) for one in [*os.environ] if one.startswith('XDG_')]"
    return command(*words, cwd=folder, before=_BECOME_NOBODY + closed, environment=environment)


def _environment(folder: Path) -> dict[str, str]:
    home = folder / "home"
    return {"HOME": str(home), "FATHOM_STORE": str(home / "s.sqlite"), "COLUMNS": "500"}


def test_each_verb_without_what_it_needs_says_so(folder: Path) -> None:
    first = subprocess.run(
        [*_NOBODY, *COMMAND, "--help"],
        cwd=folder,
        env=_environment(folder) | {"PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if first.returncode:
        pytest.skip(f"another account cannot run what is installed here: {first.stderr[-200:]}")
    for feature, words in _VERBS.items():
        done = _as_nobody(folder, words)
        parts = (re.escape(part.strip()) for part in _rows()[feature].split("..."))
        assert re.search(".*".join(parts), " ".join(done.stderr.split())), (feature, done.stderr)
        assert done.returncode in (1, 2, 3), (feature, done.stderr)


@pytest.mark.parametrize("kept", ["docker", "no administrator"])
def test_all_works_without_the_capability_of_an_administrator(kept: str, tmp_path: Path) -> None:
    if os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("only root can take privileges away, with setpriv")
    # https://docs.docker.com/engine/security/#linux-kernel-capabilities
    docker = (
        "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,"
        "+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"
    )
    bounds = docker if kept == "docker" else "-sys_admin"
    path = tmp_path / "t.dat"
    for words in (("-c1M", "-w100"), ("-w100", "--strict", "-Su"), ("-w50", "--trim=20")):
        started = ["setpriv", f"--bounding-set={bounds}", "--inh-caps=-all", str(diskspd())]
        started += ["-d1", "-W0", "--stop-ios=50", "-b4K", *words, str(path)]
        done = subprocess.run(started, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
