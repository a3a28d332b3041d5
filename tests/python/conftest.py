"""Stores of both kinds for the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import haste
import pytest
from commands import SHORT_RUNS
from fathom import _fathom
from fathom import _own_stores as own_stores
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulated_storage import SimulatedStorage

# The server refuses to run as root; Debian's package makes the first of these.
_UNPRIVILEGED = ("postgres", "nobody")
_numbers = count()
haste.leave_out_flushes()
# As the command does: the matrices are small, and threads of their own only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What a shell starts in the background ignores Ctrl-C, and so would all commands that tests start
# and then interrupt. A handler of our own is not handed on: what is started has the default.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So it is with what `nohup` starts and SIGHUP, which must not end the tests themselves.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


# Where that is memory, as on Debian 13, most of what is measured would be none of a device.
_KIND = ("stat", "--file-system", "--format=%T", tempfile.gettempdir())
if subprocess.run(_KIND, capture_output=True, text=True, check=False).stdout.strip() == "tmpfs":
    os.environ["TMPDIR"] = tempfile.tempdir = "/var/tmp"  # noqa: S108 - Folders in it are private.


def pytest_collection_finish() -> None:
    """Let the collector look only at what the tests make."""
    haste.collect_rarely()


def _binaries() -> Path | None:
    """Return the folder of the newest server that is installed; Debian keeps it off the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


class Server:
    """A PostgreSQL server of our own, in a temporary folder, on a unix socket."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        """Make its data folder and start it."""
        self._binaries = binaries
        self._folder = folder
        self._user = next((name for name in _UNPRIVILEGED if _exists(name)), "nobody")
        if os.getuid() == 0:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", "data", "-U", "fathom", "-A", "trust", "-E", "UTF8", "--no-sync")
        # What is tested are transactions and processes that die, not power cuts.
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=60"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self) -> None:
        """Stop it."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "stop")

    def new_database(self) -> str:
        """Return the address of an empty database."""
        name = f"store_{next(_numbers)}"
        self._run("createdb", "-h", str(self._folder), "-U", "fathom", name)
        return f"postgresql://fathom@/{name}?host={self._folder}"

    def _run(self, command: str, *args: str) -> None:
        subprocess.run(
            [self._binaries / command, *args],
            cwd=self._folder,
            user=self._user if os.getuid() == 0 else None,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def cache_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands cache out of the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed (Debian: postgresql)")
    # A short path: that of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="fathom-pg-", dir="/tmp") as folder:
        started = Server(binaries, Path(folder))
        try:
            yield started
        finally:
            started.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a store that nobody has used yet."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    started: Server = request.getfixturevalue("server")
    return started.new_database()


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with Store(address) as opened:
        yield opened


@pytest.fixture(scope="session")
def _own_stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(autouse=True)
def _own_store(_own_stores: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep tests away from the user's own store."""
    folder = _own_stores / str(next(_numbers))
    folder.mkdir()
    monkeypatch.setenv("FATHOM_STORE", str(folder / "store.sqlite"))


@pytest.fixture(autouse=True)
def _no_stores_of_others() -> Iterator[None]:
    """Forget the stores of other tests: a process takes each that it opens as its own for good."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_stores, "_noted", {})
        yield


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedStorage]:
    """Return simulated storage with a store, which the command uses too."""
    # Not above: NumPy is to see how many threads it may have.
    from fathom import runners  # noqa: PLC0415
    from simulated_storage import SimulatedStorage  # noqa: PLC0415

    with Store(os.environ["FATHOM_STORE"]) as opened:
        made = SimulatedStorage(opened)
        monkeypatch.setattr(runners, "NativeRunner", lambda *_store, **_more: made)
        yield made


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """End each run of this process early: for tests in which its length does not matter."""
    # It is put back behind the test.
    monkeypatch.setattr(_fathom, "run_job", _fathom.run_job)
    exec(SHORT_RUNS, {})  # noqa: S102 - It comes from the tests.
