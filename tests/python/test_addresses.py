"""The lab on a target that another host serves: an export of nbdkit, over a socket of this host."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom._addresses import is_address, misnomer
from fathom._provenance import TargetProvenance, target_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = Path(__file__).parents[2] / "crates/core/src/storage/target.rs"
SIZE_BYTES = 16 << 20


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("nbd://host/x", True),
        ("NBD+unix:///?socket=/s", True),
        ("iscsi://h/iqn.x/1", True),
        (r"\\server\share\f", True),
        ("nbd:/host", False),
        ("./nbd://host", False),
        ("/dev/sda", False),
        ("http://host", False),
    ],
)
def test_addresses_are_told_from_paths_as_the_engine_does(name: str, *, is_one: bool) -> None:
    assert is_address(name) is is_one


def test_each_scheme_of_the_engine_is_one_of_the_lab() -> None:
    schemes = re.findall(r'\("([a-z+]+)", Self::', TARGETS.read_text(encoding="utf-8"))
    assert len(schemes) >= 7
    unknown = [one for one in schemes if not is_address(f"{one}://host/x")]
    assert unknown == [], "_SCHEMES of fathom/_addresses.py lacks them"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    """Return the address of an export with data; its server ends with the tests."""
    if shutil.which("nbdkit") is None:
        pytest.skip("there is no nbdkit")
    disk, place = home / "disk", home / "socket"
    disk.write_bytes(bytes(SIZE_BYTES))
    words = [
        "nbdkit",
        "--foreground",
        "--exit-with-parent",
        "--unix",
        str(place),
        "file",
        str(disk),
    ]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as server:
        for _ in range(400):
            if place.exists():
                break
            time.sleep(0.01)
        yield f"nbd+unix:///?socket={place}"
        with suppress(ProcessLookupError):
            server.terminate()


@pytest.fixture(scope="module")
def store(home: Path) -> Path:
    return home / "store.sqlite"


def _fathom(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return command(*args, cwd=home)


def test_a_run_is_saved_shown_and_reported(home: Path, address: str, store: Path) -> None:
    load = ["-b4K", "-r", "-o4", "-t2", "-d30", "-W0", "-L", "--stop-ios=500", address]
    for _ in range(2):
        ran = _fathom(home, "run", "--store", str(store), *load)
        assert ran.returncode == 0, ran.stderr
    result = fathom.run(load, check=False)
    network = result.raw["time_spans"][0]["network"][0]
    assert (network["connections"], network["protocol"]) == (2, "NBD")
    assert result.raw["time_spans"][0]["targets"][0]["kind"] == "network"
    shown = _fathom(home, "show", "--store", str(store), "1")
    assert address in shown.stdout
    compared = _fathom(home, "compare", "--store", str(store), "1", "2")
    assert compared.returncode == 0, compared.stderr
    page = home / "page.html"
    reported = _fathom(home, "report", "--store", str(store), "-o", str(page), "1", "2")
    assert reported.returncode == 0, reported.stderr
    assert "no device can be seen" in page.read_text().lower()


def test_a_sweep_and_a_tuning_measure_it(home: Path, address: str, store: Path) -> None:
    own = ["--store", str(store), "--json"]
    load = ["-b4K", "-r", "-L", address]
    sweep = _fathom(
        home, "sweep", *own, "--depth", "1,2", "--duration", "1s", "--warm-up", "0s", *load
    )
    assert sweep.returncode == 0, sweep.stderr
    assert len(json.loads(sweep.stdout)["cells"]) == 2
    alone = _fathom(home, "sweep", "--store", str(store), "--dry-run", "--depth", "1,2", address)
    assert alone.returncode == 0, alone.stderr


def test_an_assessment_only_reads_it(home: Path, address: str) -> None:
    before = (home / "disk").read_bytes()
    ran = _fathom(home, "assess", "--dry-run", "--quick", address)
    assert ran.returncode == 0, ran.stderr
    assert "16 MiB, only read" in ran.stdout
    missing = f"nbd+unix:///?socket={home / 'nobody'}"
    gone = _fathom(home, "assess", "--quick", missing)
    assert gone.returncode != 0
    assert "cannot be examined" in gone.stderr
    assert (home / "disk").read_bytes() == before


def test_it_is_written_only_by_its_name(home: Path, address: str, store: Path) -> None:
    load = ["-b4K", "-w100", "-o1", "-d30", "-W0", "--stop-ios=10", address]
    refused = _fathom(home, "run", "--store", str(store), *load)
    assert refused.returncode == 2
    token = f"--allow-write={home / 'socket'}/:{SIZE_BYTES}"
    assert token in refused.stderr
    allowed = _fathom(home, "run", "--store", str(store), token, *load)
    assert allowed.returncode == 0, allowed.stderr
    audit = _fathom(home, "audit", "--store", str(store))
    assert "served by another host" in audit.stdout, audit.stdout


def test_what_only_makes_sense_here_is_refused_with_the_reason(home: Path, address: str) -> None:
    for words in (["prepare", "look", address], ["prepare", "fill", address]):
        refused = _fathom(home, *words)
        assert refused.returncode != 0
        assert "served by another host" in refused.stderr, refused.stderr
    foreign = _fathom(home, "run", "--runner", "fio", "-b4K", "-r", "-d1", address)
    assert foreign.returncode != 0


def test_nothing_of_this_host_is_said_to_lie_beneath_it(address: str) -> None:
    assert target_provenance(address) == TargetProvenance()


@pytest.mark.parametrize("name", ["C:", "C:\\x.dat", "d:/x", "#0", "#12"])
@pytest.mark.parametrize(
    "verb", [("prepare", "fill", "--size", "1M"), ("prepare", "look"), ("assess", "--time", "10s")]
)
def test_no_verb_takes_a_name_for_a_file_that_a_run_does_not(
    name: str, verb: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    r"""``prepare fill`` made a file called ``D:\x.dat``, or ``#0``, which no run could measure."""
    monkeypatch.chdir(tmp_path)
    done = command(*verb, name)
    assert done.returncode == 3, done.stderr
    assert "drive letter" in done.stderr or "name it by its path" in done.stderr
    assert list(tmp_path.iterdir()) == []
    for plain in ("x:y", "a#0", "#", "#x", "./#0", "CC:/x"):
        assert misnomer(plain) is None


def test_a_file_that_is_called_as_a_disk_is_named_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "#0").write_bytes(b"data" * 1024)
    done = command("prepare", "adopt", "./#0", "--lose", "#0")
    assert done.returncode == 0, done.stderr
    assert "is a scratch file now" in done.stdout + done.stderr
