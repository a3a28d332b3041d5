"""The lab on files of shares and exports, and who logs in there: against real servers."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from at_terminal import at_a_terminal
from commands import command
from fathom.experiments.assess import EFFORTS, assess
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth
from storage_servers import PASSWORD, Ganesha, Samba

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from storage_servers import Server

# Of a share, an export and a folder: what one I/O takes.
_TRUTHS = [
    Truth(servers=8, read_us=took, write_us=took, durable_us=took, mib_per_s=rate)
    for took, rate in ((2_250.0, 110), (900.0, 110), (160.0, 1_500))
]


def _started(kind: type[Server], place: Path) -> Iterator[Server]:
    why = kind.obstacle()
    if why is not None:
        pytest.skip(why)
    server = kind(place)
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shares")


@pytest.fixture(scope="module")
def samba(home: Path) -> Iterator[Samba]:
    yield from _started(Samba, home / "smb")  # type: ignore[misc]


@pytest.fixture(scope="module")
def ganesha(home: Path) -> Iterator[Ganesha]:
    yield from _started(Ganesha, home / "nfs")  # type: ignore[misc]


def _fathom(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command(*words, "--store", str(home / "store.sqlite"), cwd=home)


def test_a_file_on_a_share_is_filled_once_and_kept(home: Path, samba: Samba) -> None:
    address, file = samba.address("filled.dat"), samba.folder / "filled.dat"
    for fate in ("made", "kept"):
        filled = _fathom(home, "prepare", "fill", "--size", "1M", "--json", address)
        assert filled.returncode == 0, filled.stderr
        assert json.loads(filled.stdout)["fate"] == fate
    assert file.stat().st_size == 1 << 20
    file.write_bytes(b"Dear Anna, " * 1000)
    refused = _fathom(home, "prepare", "fill", "--size", "1M", address)
    assert refused.returncode == 2
    assert "--allow-write=" in refused.stderr
    assert file.read_bytes() == b"Dear Anna, " * 1000
    without_size = _fathom(home, "prepare", "fill", address)
    assert without_size.returncode == 3
    assert "--size" in without_size.stderr


def test_a_share_an_export_and_a_folder_are_assessed_side_by_side(
    home: Path, samba: Samba, ganesha: Ganesha, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [samba.address("a.dat"), ganesha.address("a.dat")]
    for name in names:
        made = _fathom(home, "prepare", "fill", "--size", "2M", name)
        assert made.returncode == 0, made.stderr
    (home / "local").mkdir()
    monkeypatch.chdir(home)
    truths = dict(zip([*names, "local/"], _TRUTHS, strict=True))
    with Store(str(home / "assessed.sqlite")) as store:
        effort = replace(EFFORTS["quick"], size_bytes=64 << 20)
        found = assess(store, SimulatedStorage(store, truths), [*names, "local"], effort)
    assert found.comparison is not None
    reads = {one.name: one for one in found.comparison.figures}["random_reads"]
    assert reads.values == pytest.approx([8e6 / truth.read_us for truth in _TRUTHS], rel=0.05)
    assert found.comparison.headline == (
        "local is the fastest in all 4 numbers that all have; "
        f"of {names[0]}'s writes nothing is known; of {names[1]}'s writes nothing is known."
    )
    page = home / "page.html"
    store_at = ["--store", str(home / "assessed.sqlite")]
    reported = command("report", "-o", str(page), *store_at, "e1", cwd=home)
    assert reported.returncode == 0, reported.stderr
    assert all(name in page.read_text(encoding="utf-8") for name in [*names, "local"])


def _credentials(home: Path, password: str, mode: int = 0o600) -> str:
    file = home / "credentials"
    file.write_text(f"username={os.environ.get('USER', 'root')}\npassword={password}\n")
    file.chmod(mode)
    return str(file)


def test_credentials_come_from_a_file_and_stand_in_no_result(home: Path, samba: Samba) -> None:
    (samba.folder / "closed.dat").write_bytes(bytes(1 << 20))
    load = ["-b4K", "-r", "-d60", "-W0", "--stop-ios=9", samba.closed_address("closed.dat")]
    without = _fathom(home, "run", *load)
    assert without.returncode == 1
    assert "--credentials=FILE" in without.stderr
    others_may_read = _fathom(home, "run", "--credentials", _credentials(home, "x", 0o644), *load)
    assert others_may_read.returncode == 3
    assert "chmod 600" in others_may_read.stderr
    file = _credentials(home, PASSWORD)
    good = _fathom(home, "run", "--credentials", file, *load)
    assert good.returncode == 0, good.stderr
    shown = _fathom(home, "show", "--json", "1")
    page = _fathom(home, "report", "-o", str(home / "own.html"), "1")
    assert page.returncode == 0, page.stderr
    (home / "credentials").unlink()
    said = f"{good.stdout}{good.stderr}{shown.stdout}{page.stdout}"
    assert PASSWORD not in said
    kept = [one for one in home.iterdir() if one.is_file()]
    assert len(kept) > 1
    assert not any(PASSWORD.encode() in one.read_bytes() for one in kept)


def test_a_password_is_asked_for_at_a_terminal_and_not_shown(home: Path, samba: Samba) -> None:
    (samba.folder / "closed.dat").write_bytes(bytes(1 << 20))
    where = f"127.0.0.1:{samba.port}: ".encode()
    answers = [(where, f"{samba.user}\n".encode()), (where, f"{PASSWORD}\n".encode())]
    lab = [sys.executable, "-c", "from fathom.cli import main; main()", "run"]
    words = [*lab, "--store", str(home / "asked.sqlite"), "-b4K", "-r", "-d60", "-W0"]
    words += ["--stop-ios=9", samba.closed_address("closed.dat")]
    code, said, _ = at_a_terminal(words, answers)
    assert code == 0, said
    assert f"Password of {samba.user} on 127.0.0.1:{samba.port}: " in said
    assert PASSWORD not in said
    assert PASSWORD.encode() not in (home / "asked.sqlite").read_bytes()
