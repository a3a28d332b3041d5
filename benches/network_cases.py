"""The cases over the network: the server on one core, and both clients by turns on another one.

Where the server's core is at its limit, IOPS are the server's, whoever asks; what a client costs is
its CPU time per I/O.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import network_tools
import tools
from cases import CPU_PER_IO, IOPS, MIB, Case, Duel, Figure, Setting, usable_cpus
from legs import run
from network import FILE, Ganesha3, served, two_cpus
from network_tools import SMBCLIENT_BLOCK_BYTES, SMBCLIENT_DEPTH
from storage_servers import Nbdkit, Samba, Tgt
from tools import Load

if TYPE_CHECKING:
    from collections.abc import Callable

    from legs import Tool
    from storage_servers import Server

DEPTH = 32
COPY_BYTES = 256 << 10
FIRST_READS = 2_000
# 1.3 times as many I/Os per core.
CPU_LIMIT = 1 / 1.3


class Sides:
    """A server that runs, the load on it, and both tools on the client's core."""

    def __init__(self, setting: Setting, kind: type[Server]) -> None:
        """Start the server."""
        self.setting = setting
        server_cpu, self.cpu = two_cpus(usable_cpus())
        self.server = served(kind, server_cpu, setting.stack)
        inside = self.server.inside() if isinstance(self.server, Ganesha3) else []
        self.before = ("taskset", "-c", str(self.cpu), *inside)

    def load(self, depth: int, block_bytes: int = 4096, *, sequential: bool = False) -> Load:
        """Give a load on the server's file."""
        return Load(
            (self.server.address(FILE),),
            depth,
            self.setting.seconds,
            (self.cpu,),
            direct=False,
            block_bytes=block_bytes,
            sequential=sequential,
        )

    def duel(self, load: Load, *peers: Tool) -> Duel:
        """Let our own tool meet these, all on the client's core."""
        ours = tools.diskspd(self.setting.diskspd, load)
        return Duel(self.here(ours), [self.here(peer) for peer in peers])

    def qemu_img(self, load: Load) -> Tool:
        """Give qemu-img with as many reads as it does here in the length of a leg."""
        first = run(self.here(network_tools.qemu_img(load, FIRST_READS)))
        reads = max(FIRST_READS, int(first.iops * load.seconds))
        return network_tools.qemu_img(load, reads)

    def here(self, tool: Tool) -> Tool:
        """Keep a tool to the client's core, and have it see the server."""
        return replace(tool, command=(*self.before, *tool.command))


def _nbd(setting: Setting, depth: int) -> Duel:
    sides = Sides(setting, Nbdkit)
    load = sides.load(depth)
    return sides.duel(load, network_tools.fio_nbd(setting.fio, load))


def _nbd_copy(setting: Setting, depth: int) -> Duel:
    sides = Sides(setting, Nbdkit)
    load = sides.load(depth, COPY_BYTES, sequential=True)
    return sides.duel(load, network_tools.nbdcopy(load), sides.qemu_img(load))


def _iscsi(setting: Setting, depth: int) -> Duel:
    sides = Sides(setting, Tgt)
    load = sides.load(depth)
    return sides.duel(load, network_tools.iscsi_perf(load))


def _iscsi_sequential(setting: Setting, depth: int) -> Duel:
    sides = Sides(setting, Tgt)
    load = sides.load(depth, sequential=True)
    return sides.duel(load, sides.qemu_img(load))


def _nfs_sequential(setting: Setting, depth: int) -> Duel:
    """Read by version 3, the only one that qemu-img has; both clients in the server's namespace."""
    sides = Sides(setting, Ganesha3)
    load = sides.load(depth, sequential=True)
    (address,) = load.targets
    ours = replace(load, targets=(f"{address}?version=3",))
    theirs = replace(load, targets=(f"{address}?uid=0&gid=0",))
    return sides.duel(ours, sides.qemu_img(theirs))


def _smb_copy(setting: Setting, depth: int) -> Duel:
    sides = Sides(setting, Samba)
    load = sides.load(depth, SMBCLIENT_BLOCK_BYTES, sequential=True)
    peer = network_tools.smbclient("127.0.0.1", "share", sides.server.port, FILE, setting.seconds)
    return sides.duel(load, peer)


def _rates(block_bytes: int) -> Figure:
    return Figure("MiB/s", lambda leg: leg.iops * block_bytes / MIB, max)


def _pair(
    name: str, title: str, duel: Callable[[Setting, int], Duel], depth: int, figure: Figure = IOPS
) -> list[Case]:
    """Give the case of the speed, and beyond depth 1 that of its CPU time."""

    def held(setting: Setting) -> Duel:
        return duel(setting, depth)

    title = f"{title}, queue depth {depth}"
    cases = [Case(name, title, figure, 1.0, at_most=False, duel=held)]
    if depth > 1:
        cpu = "the same: CPU time per I/O"
        cases.append(Case(f"{name}-cpu", cpu, CPU_PER_IO, CPU_LIMIT, at_most=True, duel=held))
    return cases


NBD = "NBD, 4 KiB random read of nbdkit, against fio's engine"
ISCSI = "iSCSI, 4 KiB random read of tgt, against iscsi-perf"
ISCSI_SEQUENTIAL = "iSCSI, 4 KiB sequential read of tgt, against qemu-img bench"
NFS = "NFS 3, 4 KiB sequential read of nfs-ganesha, against qemu-img bench"
NBD_COPY = "NBD, 256 KiB sequential read of nbdkit, against nbdcopy and qemu-img bench"
SMB_COPY = "SMB, 8 MiB sequential read of Samba, against get of smbclient"

NETWORK_CASES = [
    *_pair("nbd-1", NBD, _nbd, 1),
    *_pair("nbd-32", NBD, _nbd, DEPTH),
    *_pair("nbd-copy", NBD_COPY, _nbd_copy, DEPTH, _rates(COPY_BYTES)),
    *_pair("iscsi-1", ISCSI, _iscsi, 1),
    *_pair("iscsi-32", ISCSI, _iscsi, DEPTH),
    *_pair("iscsi-sequential-32", ISCSI_SEQUENTIAL, _iscsi_sequential, DEPTH),
    *_pair("nfs-1", NFS, _nfs_sequential, 1),
    *_pair("nfs-32", NFS, _nfs_sequential, DEPTH),
    *_pair("smb-copy", SMB_COPY, _smb_copy, SMBCLIENT_DEPTH, _rates(SMBCLIENT_BLOCK_BYTES)),
]
