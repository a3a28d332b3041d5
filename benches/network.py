"""Servers of the network's targets, on a core of their own, with a file in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from places import MissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import ExitStack

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

import storage_servers
from storage_servers import Ganesha, Server

FILE = "disk.dat"
FILE_BYTES = 256 << 20
_NAMESPACE = "mount -t tmpfs tmpfs /run && ip link set lo up && exec rpcbind -f -w"
_STARTS_WITHIN_S = 10.0

Kind = TypeVar("Kind", bound=Server)


class Ganesha3(Ganesha):
    """NFS-Ganesha of version 3 on its usual port, in a namespace with a port mapper of its own."""

    def __init__(self, place: Path) -> None:
        """Prepare the namespace, too; nothing is started."""
        super().__init__(place)
        self.mapper: subprocess.Popen[bytes] | None = None
        file = self.place / "ganesha.conf"
        words = file.read_text().replace(f"NFS_Port = {self.port}", "NFS_Port = 2049")
        words = words.replace("Bind_addr = 127.0.0.1; ", "").replace(
            "Protocols = 4", "Protocols = 3"
        )
        file.write_text(words)

    @classmethod
    def obstacle(cls) -> str | None:
        """Return why it cannot run here; None if it can."""
        missing = [one for one in ("rpcbind", "unshare", "nsenter") if shutil.which(one) is None]
        return f"there is no {missing[0]}" if missing else super().obstacle()

    def inside(self) -> list[str]:
        """Return what a command begins with that is to run beside the server."""
        if self.mapper is None:
            raise RuntimeError("the namespace is there once the server was started")
        (child,) = storage_servers.children(self.mapper.pid) or [self.mapper.pid]
        return ["nsenter", "--net", "--mount", f"--target={child}"]

    def address(self, name: str) -> str:
        """Return the address of a file."""
        return f"nfs://127.0.0.1{self.folder}/{name}"

    def command(self) -> Sequence[str]:
        """Return what starts it."""
        return [*self.inside(), *super().command()]

    def start(self) -> None:
        """Start both, and wait until the server listens."""
        space = ["unshare", "--net", "--mount", "--fork", "--kill-child", "sh", "-c", _NAMESPACE]
        self.mapper = subprocess.Popen(  # noqa: S603 - Ours.
            space, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._await(111)
        with (self.place / "out").open("wb") as out:
            self.child = subprocess.Popen(  # noqa: S603 - Ours.
                self.command(), stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        self._await(2049)

    def _await(self, port: int) -> None:
        end = time.monotonic() + _STARTS_WITHIN_S
        while time.monotonic() < end:
            knock = [*self.inside(), "bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"]
            if subprocess.run(knock, check=False, capture_output=True).returncode == 0:  # noqa: S603
                return
            time.sleep(0.05)
        raise MissingError(f"nothing listens on port {port} of a namespace of its own")

    def kill(self) -> None:
        """Kill both."""
        super().kill()
        if self.mapper is not None:
            self.mapper.kill()
            self.mapper.wait()


def two_cpus(cpus: Sequence[int]) -> tuple[int, int]:
    """Return the server's CPU and the client's.

    Raises:
        MissingError: where there is one alone.

    """
    if len(cpus) < 2:  # noqa: PLR2004 - Two is two.
        raise MissingError("two CPUs are needed: the server's and the client's")
    return cpus[0], cpus[1]


def served(kind: type[Kind], cpu: int, stack: ExitStack) -> Kind:
    """Start a server that serves `FILE`, on this CPU; it ends with the stack.

    Raises:
        MissingError: if it cannot run here.

    """
    why = kind.obstacle()
    if why is not None:
        raise MissingError(why)
    memory = "/dev/shm"  # noqa: S108 - It is the network that is measured, and no disk.
    place = stack.enter_context(tempfile.TemporaryDirectory(dir=memory, prefix="fathom-bench-"))
    Path(place).chmod(0o755)
    server = kind(Path(place) / "server")
    with (server.folder / FILE).open("wb") as file:
        file.writelines(os.urandom(4 << 20) for _ in range(0, FILE_BYTES, 4 << 20))
    stack.callback(server.kill)
    with _confined(cpu):
        server.start()
    return server


@contextmanager
def _confined(cpu: int) -> Iterator[None]:
    """Have all that is started meanwhile keep to one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
