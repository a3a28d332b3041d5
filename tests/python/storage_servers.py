"""Servers of storage on loopback, each with a folder of its own, for who needs one."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "KINDS",
    "LUN_BYTES",
    "PASSWORD",
    "SECRETS",
    "ChapTgt",
    "ClosedSamba",
    "Ganesha",
    "Nbdkit",
    "Samba",
    "Server",
    "Tgt",
    "children",
]

PASSWORD = "pass w0rd"  # noqa: S105 - Of a server that lives as long as its test.
# By which initiator and target prove themselves with CHAP.
SECRETS = ("the s3cret of anna", "the s3cret of the array")
_STARTS_WITHIN_S = 20.0
# Of the file that tgt serves.
LUN_BYTES = 8 << 20


class Server:
    """A server whose files lie in ``folder``; it can be killed, and started again with them."""

    name = ""
    program = ""
    # Whether only root can run it.
    needs_root = False

    def __init__(self, place: Path) -> None:
        """Prepare it; nothing is started."""
        self.place = place.absolute()
        self.folder = self.place / "served"
        self.folder.mkdir(parents=True)
        self.port = free_port()
        self.child: subprocess.Popen[bytes] | None = None

    @classmethod
    def obstacle(cls) -> str | None:
        """Return why it cannot run here; None if it can."""
        if shutil.which(cls.program) is None:
            return f"there is no {cls.program}"
        if cls.needs_root and os.geteuid():
            return f"{cls.program} needs root"
        return None

    def address(self, name: str) -> str:
        """Return the address of a file."""
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        """Return what starts it."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Return what its clients need of their environment."""
        return {}

    def credentials(self, *lines: str) -> dict[str, str]:
        """Return the environment of who logs in with what is in a file."""
        file = self.place / "credentials"
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        file.chmod(0o600)
        return {"FATHOM_CREDENTIALS": str(file)}

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self.place / "out").open("wb") as out:
            self.child = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        end = time.monotonic() + _STARTS_WITHIN_S
        while time.monotonic() < end and self.child.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.02)
        words = (self.place / "out").read_text(errors="replace")
        raise RuntimeError(f"{self.program} does not begin: {words}")

    def kill(self) -> None:
        """Kill it with the processes that it made."""
        if self.child is None:
            return
        below = children(self.child.pid)
        for pid in [self.child.pid, *below]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.child.wait()
        self.child = None


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        return [int(word) for word in words.split()]
    return []


class Nbdkit(Server):
    """nbdkit with files of a folder."""

    name = "NBD"
    program = "nbdkit"

    def address(self, name: str) -> str:
        """Return the address of an export."""
        return f"nbd://127.0.0.1:{self.port}/{name}"

    def command(self) -> Sequence[str]:
        """Return what starts it."""
        where = ["--ipaddr=127.0.0.1", f"--port={self.port}"]
        return ["nbdkit", "--foreground", "--threads=16", *where, "file", f"dir={self.folder}"]


class Samba(Server):
    """Samba's smbd with the shares `share`, for guests, and `closed`, with a password."""

    name = "SMB"
    program = "smbd"
    needs_root = True

    def __init__(self, place: Path) -> None:
        """Write its configuration and its password database."""
        super().__init__(place)
        self.user = pwd.getpwuid(os.geteuid()).pw_name
        for name in ("private", "state", "cache", "lock", "pid", "ncalrpc"):
            (self.place / name).mkdir()
        (self.place / "smb.conf").write_text(self._configuration(), encoding="utf-8")
        subprocess.run(
            ["smbpasswd", "-c", str(self.place / "smb.conf"), "-s", "-a", self.user],  # noqa: S607
            input=f"{PASSWORD}\n{PASSWORD}\n".encode(),
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def _configuration(self) -> str:
        place = self.place
        return (
            "[global]\nserver role = standalone server\ninterfaces = lo\n"
            f"smb ports = {self.port}\nbind interfaces only = yes\nprivate dir = {place}/private\n"
            f"state directory = {place}/state\ncache directory = {place}/cache\n"
            f"lock directory = {place}/lock\npid directory = {place}/pid\n"
            f"ncalrpc dir = {place}/ncalrpc\nlog file = {place}/log\npassdb backend = tdbsam\n"
            "map to guest = Bad User\ndisable netbios = yes\nload printers = no\n"
            "printcap name = /dev/null\ndisable spoolss = yes\n"
            f"[share]\npath = {self.folder}\nread only = no\nguest ok = yes\n"
            f"force user = {self.user}\n"
            f"[closed]\npath = {self.folder}\nread only = no\nforce user = {self.user}\n"
        )

    def address(self, name: str) -> str:
        """Return the address of a file for guests."""
        return f"smb://127.0.0.1:{self.port}/share/{name}"

    def closed_address(self, name: str) -> str:
        """Return the address of the same file for who has a password."""
        return f"smb://127.0.0.1:{self.port}/closed/{name}"

    def command(self) -> Sequence[str]:
        """Return what starts it."""
        return ["smbd", "--foreground", "--debug-stdout", "-s", str(self.place / "smb.conf")]


class ClosedSamba(Samba):
    """Samba whose share asks for a user and a password."""

    name = "SMB with a password"

    def address(self, name: str) -> str:
        """Return the address of a file for who has a password."""
        return self.closed_address(name)

    def environment(self) -> dict[str, str]:
        """Return what its clients need of their environment."""
        return self.credentials(f"username={self.user}", f"password={PASSWORD}")


class Ganesha(Server):
    """NFS-Ganesha with one export of version 4."""

    name = "NFS"
    program = "ganesha.nfsd"
    needs_root = True

    def __init__(self, place: Path) -> None:
        """Write its configuration."""
        super().__init__(place)
        (self.place / "recovery").mkdir()
        (self.place / "ganesha.conf").write_text(
            f"NFS_CORE_PARAM {{ NFS_Port = {self.port}; MNT_Port = {free_port()};\n"
            "NFS_Protocols = 4; Bind_addr = 127.0.0.1; Enable_NLM = false;\n"
            "Enable_RQUOTA = false; }\n"
            "NFSv4 { Graceless = true; RecoveryBackend = fs;\n"
            f'RecoveryRoot = "{self.place}/recovery"; }}\n'
            f"EXPORT {{ Export_Id = 1; Path = {self.folder}; Pseudo = /export;\n"
            "Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 4;\n"
            "Transports = TCP; FSAL { Name = VFS; } }\n",
            encoding="utf-8",
        )

    def address(self, name: str) -> str:
        """Return the address of a file."""
        return f"nfs://127.0.0.1:{self.port}/export/{name}"

    def command(self) -> Sequence[str]:
        """Return what starts it."""
        files = ["-f", "ganesha.conf", "-L", "log", "-p", "ganesha.pid"]
        places = [one if one.startswith("-") else str(self.place / one) for one in files]
        return ["ganesha.nfsd", "-F", "-N", "NIV_EVENT", *places]


class Tgt(Server):
    """tgt with one LUN, which is the file ``disk.dat``; with CHAP once there are accounts."""

    name = "iSCSI"
    program = "tgtd"
    needs_root = True
    target = "iqn.2003-01.org.example:lab"

    def __init__(self, place: Path) -> None:
        """Choose its control port, of which the highest is 32767."""
        super().__init__(place)
        self.control = str(1_000 + self.port % 30_000)
        # Who logs in, and what the target proves in return; each with a secret.
        self.incoming: tuple[str, str] | None = None
        self.outgoing: tuple[str, str] | None = None

    def address(self, name: str = "disk.dat") -> str:
        """Return the address of the LUN."""
        del name
        return f"iscsi://127.0.0.1:{self.port}/{self.target}/1"

    def command(self) -> Sequence[str]:
        """Return what starts it."""
        return ["tgtd", "-f", "-C", self.control, "--iscsi", f"portal=127.0.0.1:{self.port}"]

    def start(self) -> None:
        """Start it, and set its LUN up."""
        disk = self.folder / "disk.dat"
        with disk.open("ab") as file:
            file.truncate(max(LUN_BYTES, file.tell()))
        super().start()
        self.administer("target", "new", "--tid", "1", "--targetname", self.target)
        lun = ["--tid", "1", "--lun", "1"]
        self.administer("logicalunit", "new", *lun, "--backing-store", str(disk))
        for account, more in ((self.incoming, ()), (self.outgoing, ("--outgoing",))):
            if account is not None:
                self.add_account(*account, *more)
        self.administer("target", "bind", "--tid", "1", "--initiator-address", "ALL")

    def add_account(self, user: str, secret: str, *more: str) -> None:
        """Have the target know a user."""
        self.administer("account", "new", "--user", user, "--password", secret)
        self.administer("account", "bind", "--tid", "1", "--user", user, *more)

    def administer(self, mode: str, operation: str, *more: str) -> None:
        """Change what the daemon has, once it answers."""
        words = ["tgtadm", "-C", self.control, "--lld", "iscsi", "--mode", mode, "--op", operation]
        end = time.monotonic() + _STARTS_WITHIN_S
        while True:
            done = subprocess.run([*words, *more], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            if time.monotonic() > end:
                raise RuntimeError(f"tgtadm {mode} {operation}: {done.stderr}")
            time.sleep(0.02)

    def kill(self) -> None:
        """Kill it, and remove what it leaves of its control port."""
        super().kill()
        for end in ("", ".lock"):
            Path(f"/var/run/tgtd/socket.{self.control}{end}").unlink(missing_ok=True)


class ChapTgt(Tgt):
    """tgt that wants the initiator's secret, and proves its own."""

    name = "iSCSI with CHAP"

    def __init__(self, place: Path) -> None:
        """Name both users."""
        super().__init__(place)
        self.incoming, self.outgoing = ("anna", SECRETS[0]), ("array", SECRETS[1])

    def environment(self) -> dict[str, str]:
        """Return what its clients need of their environment."""
        mine, theirs = SECRETS
        target = ("target_username=array", f"target_password={theirs}")
        return self.credentials("username=anna", f"password={mine}", *target)


KINDS: tuple[type[Server], ...] = (Nbdkit, Samba, Ganesha, Tgt, ChapTgt, ClosedSamba)
