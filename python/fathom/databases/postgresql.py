"""Private PostgreSQL clusters: made from one template, started, loaded at one instant, ended."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from fathom._proc import process_ids, process_stat
from fathom._signals import children, held_back
from fathom.databases.folder import ENVIRONMENT, end_processes
from fathom.databases.pgbench import DatabaseFigures, PgbenchError, read_pgbench
from fathom.errors import FathomError, InvalidRequestError
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.databases.account import Account

__all__ = ["Binaries", "Databases", "Settings", "find_binaries", "needed_bytes"]

# Each client has a connection; the server keeps three for itself.
_OTHER_CONNECTIONS = 10
_START_S = 60.0
_STEP_S = 0.01
# What pgbench may take beyond its time: to connect, and for the last transactions.
_PATIENCE_S = 120.0
# Measured: an empty cluster, a unit of scale with its indexes, and what the log grows to at most.
_EMPTY_BYTES, _SCALE_BYTES, _LOG_BYTES = 40 * MIB, 16 * MIB, 1024 * MIB
_LOG_BYTES_PER_S = 100 * MIB
_READY = 7
_PROGRAMS = ("initdb", "postgres", "pgbench", "psql")
_VERSION = re.compile(r"\(PostgreSQL\) (\S+)")


class Binaries(NamedTuple):
    """The folder of PostgreSQL's programs, and their version."""

    folder: Path
    version: str


class Settings(NamedTuple):
    """How each database is made and loaded: scale and clients as pgbench has them."""

    scale: int
    clients: int
    load: str


def find_binaries() -> Binaries:
    """Return the newest PostgreSQL that is installed; Debian keeps its programs off the PATH.

    Raises
    ------
    InvalidRequestError
        If there is none that has all programs.

    """
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number, reverse=True)
    beside = shutil.which("initdb")
    for folder in [*versions, *([Path(beside).resolve().parent] if beside else [])]:
        if all(os.access(folder / one, os.X_OK) for one in _PROGRAMS):
            told = subprocess.run(  # noqa: S603 - One of its own programs.
                [folder / "pgbench", "--version"], capture_output=True, text=True, check=False
            )
            version = _VERSION.search(told.stdout)
            return Binaries(folder, version[1] if version else "")
    raise InvalidRequestError(
        "there is no PostgreSQL with initdb, postgres, pgbench and psql: install it (Debian: "
        "postgresql), or measure files with --synthetic WORKLOAD"
    )


def _number(folder: Path) -> float:
    with suppress(ValueError):
        return float(folder.parent.name)
    return 0.0


def needed_bytes(databases: int, settings: Settings, seconds: int) -> int:
    """Return about how much so many databases, and the template, take."""
    each = _EMPTY_BYTES + settings.scale * _SCALE_BYTES
    log = min(_LOG_BYTES, seconds * _LOG_BYTES_PER_S)
    logs = log * databases if settings.load != "select-only" else 0
    return each * (databases + 1) + logs


@dataclass
class _Server:
    """One cluster, and its process."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def data(self) -> Path:
        return self.folder / "data"


@dataclass
class Databases:
    """Clusters of one kind in one folder; ``close`` ends all that were started."""

    folder: Path
    binaries: Binaries
    account: Account
    settings: Settings
    tell: Callable[[str], None] = lambda _words: None
    servers: list[_Server] = field(default_factory=list)
    loads: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def make_template(self) -> None:
        """Make the cluster of which all others are copies: initdb, and pgbench's tables.

        Raises
        ------
        FathomError
            If it cannot be made; the message has the program's own last words.

        """
        template = self.folder / "template"
        self._made(template)
        words = ("-D", "data", "-U", "fathom", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._done(template, "initdb", *words, "--locale=C")
        server = self._started("template")
        scale = str(self.settings.scale)
        self._done(
            template / "data", "pgbench", *self._where(), "-i", "-q", "-s", scale, "postgres"
        )
        self._done(template / "data", "psql", *self._where(), "-qc", "checkpoint", "postgres")
        self._ended(server)

    def run(self, count: int) -> None:
        """Have so many databases running; those that are missing are made.

        Raises
        ------
        FathomError
            If one cannot be made or started.

        """
        while len(self.servers) > count:
            self._ended(self.servers[-1])
        while len(self.servers) < count:
            name = f"db{len(self.servers) + 1}"
            if not (self.folder / name).exists():
                self.tell(f"making {name}")
                copy = ("cp", "-a", "--reflink=auto", "template", name)
                self._called(self.folder, "cp", copy)
            server = self._started(name)
            # Whatever fits is in memory before it is measured, as with databases that have run.
            read = "select count(*) from pgbench_accounts"
            self._done(server.data, "psql", *self._where(), "-qAtc", read, "postgres")

    def measure(
        self, seconds: int, began: Callable[[], None] = lambda: None
    ) -> list[DatabaseFigures]:
        """Load all running databases from one instant on, and return what each did.

        ``began`` is called at that instant.

        Raises
        ------
        PgbenchError
            If one was not measured.

        """
        outputs = [tempfile.TemporaryFile() for _ in self.servers]  # noqa: SIM115 - Closed below.
        gate, hold = os.pipe()
        try:
            try:
                for server, output in zip(self.servers, outputs, strict=True):
                    self.loads.append(self._waiting(server, seconds, gate, output))
            finally:
                os.close(gate)
                began()
                # All wait for the end of this pipe, which they see at once.
                os.close(hold)
            return self._figures(seconds, outputs)
        finally:
            self._end_loads()
            for output in outputs:
                output.close()

    def own_cpu_s(self) -> float:
        """Return the CPU time that servers and loads have used until now, those that ended too."""
        mine = os.times()
        ticks = _cpu_ticks_of_servers([one.process.pid for one in self.servers])
        running = sum(_cpu_ticks(one.pid) for one in self.loads)
        per_s = os.sysconf("SC_CLK_TCK")
        return mine.children_user + mine.children_system + (ticks + running) / per_s

    def close(self) -> None:
        """End everything."""
        with held_back():
            self._end_loads()
            for server in self.servers:
                with suppress(ProcessLookupError):
                    server.process.terminate()
            while self.servers:
                self._ended(self.servers[-1])
            end_processes(self.folder)

    def _where(self) -> tuple[str, ...]:
        # A socket's path has at most 107 characters: programs that work in the cluster's folder
        # find it there, however long the folder's own name is.
        return ("-h", "/proc/self/cwd", "-p", "5432", "-U", "fathom")

    def _made(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        if self.account.identity():
            os.chown(folder, self.account.uid, self.account.gid)

    def _started(self, name: str) -> _Server:
        folder = self.folder / name
        data = folder / "data"
        # Of a copy of a cluster that was ended in good order there is none.
        (data / "postmaster.pid").unlink(missing_ok=True)
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": ".",
            "port": "5432",
            "max_connections": str(self.settings.clients + _OTHER_CONNECTIONS),
            "cluster_name": f"fathom-{name}",
            "logging_collector": "off",
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        log = folder / "log"
        with held_back(), log.open("ab") as output:
            words = (str(self.binaries.folder / "postgres"), "-D", str(data), *options)
            server = _Server(name, folder, self._begun(words, data, output))
            self.servers.append(server)
        self._wait_ready(server, log)
        return server

    def _wait_ready(self, server: _Server, log: Path) -> None:
        until_s = time.monotonic() + _START_S
        while time.monotonic() < until_s and server.process.poll() is None:
            with suppress(OSError):
                noted = (server.data / "postmaster.pid").read_text().splitlines()
                # https://www.postgresql.org/docs/current/storage-file-layout.html; pg_ctl's way.
                if len(noted) > _READY and noted[_READY].strip() == "ready":
                    return
            time.sleep(_STEP_S)
        last = (log.read_text(errors="replace").strip().splitlines() or ["it says nothing"])[-1]
        raise FathomError(f"{server.name} did not start: {last}")

    def _ended(self, server: _Server) -> None:
        """End a server in good order: connections are cut, and all is written."""
        with held_back():
            for end, patience_s in (
                (_fast, 30.0),
                (_immediate, 10.0),
                (subprocess.Popen.kill, 10.0),
            ):
                end(server.process)
                with suppress(subprocess.TimeoutExpired):
                    server.process.wait(patience_s)
                    break
            self.servers.remove(server)
            children.discard(server.process.pid)

    def _waiting(
        self, server: _Server, seconds: int, gate: int, output: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start what becomes pgbench once the gate is opened."""
        clients = str(self.settings.clients)
        load = ("-b", self.settings.load, "-n", "-c", clients, "-j", clients, "-P", "1")
        pgbench = (str(self.binaries.folder / "pgbench"), *self._where(), *load)
        words = ("/bin/sh", "-c", 'read -r _; exec "$@" </dev/null', "sh", *pgbench)
        with held_back():
            return self._begun((*words, "-T", str(seconds), "postgres"), server.data, output, gate)

    def _figures(self, seconds: int, outputs: Sequence[IO[bytes]]) -> list[DatabaseFigures]:
        until_s = time.monotonic() + seconds + _PATIENCE_S
        found = []
        for server, load, output in zip(self.servers, self.loads, outputs, strict=True):
            try:
                code = load.wait(max(until_s - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                words = f"pgbench did not end within {_PATIENCE_S:.0f} s of its time"
                raise PgbenchError(f"{server.name}: {words}") from None
            output.seek(0)
            text = output.read().decode(errors="replace")
            if code:
                last = (text.strip().splitlines() or ["it printed nothing"])[-1]
                raise PgbenchError(f"{server.name}: pgbench ended with code {code}: {last}")
            found.append(read_pgbench(server.name, text))
        return found

    def _end_loads(self) -> None:
        with held_back():
            for load in self.loads:
                if load.poll() is None:
                    load.kill()
                    load.wait()
                children.discard(load.pid)
            self.loads.clear()

    def _begun(
        self, words: Sequence[str], cwd: Path, output: IO[bytes], stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - PostgreSQL's programs, with words of our own.
            words,
            cwd=cwd,
            env=self._environment(),
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A terminal's Ctrl-C is for this process, which ends them in order.
            start_new_session=True,
            **self.account.identity(),
        )
        children.add(process.pid)
        return process

    def _environment(self) -> dict[str, str]:
        """Return an environment in which no variable leads to somebody else's server."""
        return {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(self.folder), ENVIRONMENT: "1"}

    def _done(self, cwd: Path, program: str, *words: str) -> None:
        self._called(cwd, program, (str(self.binaries.folder / program), *words))

    def _called(self, cwd: Path, program: str, words: Sequence[str]) -> None:
        with tempfile.TemporaryFile() as output:
            with held_back():
                process = self._begun(words, cwd, output)
            try:
                code = process.wait()
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                children.discard(process.pid)
            if code:
                output.seek(0)
                text = output.read().decode(errors="replace").strip()
                last = (text.splitlines() or ["it printed nothing"])[-1]
                raise FathomError(f"{program} ended with code {code}: {last}")


def _fast(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(2)


def _immediate(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(3)


# proc(5), /proc/pid/stat behind the name: the parent, user and system time, and those of children
# that ended.
_PARENT = 1
_CPU_FIELDS = slice(11, 15)
_MOST_LOOKS = 10


def _cpu_ticks_of_servers(pids: Sequence[int]) -> int:
    """Return what servers have used with each of their processes, in ticks.

    A connection's process counts for its server only once that has seen its end, a moment after the
    load; one that goes from the first to the second meanwhile would be missing.
    """
    total = 0
    for _ in range(_MOST_LOOKS):
        ended = [_cpu_ticks(one) for one in pids]
        total = sum(ended) + sum(map(_cpu_ticks, _children_of(pids)))
        if ended == [_cpu_ticks(one) for one in pids]:
            break
    return total


def _children_of(pids: Sequence[int]) -> list[int]:
    parents = set(map(str, pids))
    return [one for one in process_ids() if parents.intersection(process_stat(one)[_PARENT:][:1])]


def _cpu_ticks(pid: int) -> int:
    """Return what a process and its children that ended have used, in ticks."""
    return sum(map(int, process_stat(pid)[_CPU_FIELDS]))
