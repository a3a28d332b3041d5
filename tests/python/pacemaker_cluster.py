"""A real Pacemaker of three nodes in namespaces of this machine, made and ended by a test.

Each node has a network, mounts, a host name, IPC and process numbers of its own, and its own
folders for state and logs; a bridge in a namespace of its own joins them. Nothing of this machine's
own cluster, if it has one, is touched.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NODES", "Cluster", "missing"]

NODES = ("n1", "n2", "n3")
_PROGRAMS = ("corosync", "pacemakerd", "crm_mon", "crm_resource", "unshare", "ip", "tgtd")
_AGENTS_FOLDER = Path("/usr/lib/ocf/resource.d/heartbeat")
_AGENTS = ("IPaddr2", "anything")
_NSENTER = shutil.which("nsenter") or "nsenter"
_NODE = """
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mkdir -p /run/crm /run/lock /run/resource-agents
chown hacluster:haclient /run/crm
mount --bind "$1/etc" /etc/corosync
mount --bind "$1/corosync" /var/lib/corosync
mount --bind "$1/pacemaker" /var/lib/pacemaker
mount --bind "$1/log" /var/log/pacemaker
hostname "$2"
ip link set lo up
until ip link show eth0 >/dev/null 2>&1; do sleep 0.05; done
ip address add "10.66.0.$3/24" dev eth0
ip link set eth0 up
corosync -f > "$1/corosync.out" 2>&1 &
sleep 1
pacemakerd -f > "$1/pacemakerd.out" 2>&1 &
# The first process of a node takes the ends of those whose parent is gone.
wait
"""
_COROSYNC = """
totem {{
    version: 2
    cluster_name: lab
    transport: udpu
    token: 1000
}}
nodelist {{
{nodes}
}}
quorum {{
    provider: corosync_votequorum
}}
logging {{
    to_stderr: no
    to_syslog: no
    to_logfile: no
}}
"""
# Nodes that begin with the same configuration need not wait 20 s for one that is older.
_CIB = """
<cib validate-with="pacemaker-3.0" epoch="1" num_updates="0" admin_epoch="0">
  <configuration>
    <crm_config>
      <cluster_property_set id="cib-bootstrap-options">
        <nvpair id="own-fencing" name="stonith-enabled" value="false"/>
        <nvpair id="own-deadtime" name="dc-deadtime" value="1s"/>
      </cluster_property_set>
    </crm_config>
    <nodes/>
    <resources>
      <group id="files">{resources}</group>
    </resources>
    <constraints>
      <rsc_location id="cli-prefer-files" rsc="files" role="Started" node="n1" score="INFINITY"/>
    </constraints>
  </configuration>
  <status/>
</cib>
"""
_SERVICE = """
<primitive id="address" class="ocf" provider="heartbeat" type="IPaddr2">
  <instance_attributes id="address-is">
    <nvpair id="address-ip" name="ip" value="{address}"/>
    <nvpair id="address-bits" name="cidr_netmask" value="24"/>
  </instance_attributes>
  <operations><op id="address-monitor" name="monitor" interval="1s" timeout="20s"/></operations>
</primitive>
<primitive id="export" class="ocf" provider="heartbeat" type="anything">
  <instance_attributes id="export-is">
    <nvpair id="export-program" name="binfile" value="{program}"/>
    <nvpair id="export-log" name="errlogfile" value="/var/log/pacemaker/export.log"/>
  </instance_attributes>
  <operations><op id="export-monitor" name="monitor" interval="1s" timeout="20s"/></operations>
</primitive>
<primitive id="ready" class="ocf" provider="pacemaker" type="Dummy"/>
"""
# tgtd leaves SIGTERM alone, with which the cluster stops a program.
_EXPORT = """#!/bin/sh
set -eu
PATH=/usr/sbin:/usr/bin:/sbin:/bin
tgtd -f --iscsi portal=0.0.0.0:3260 &
server=$!
trap 'kill -9 $server; exit 0' TERM
order="tgtadm --lld iscsi --mode"
until $order target --op new --tid 1 --targetname {target}; do sleep 0.05; done
$order logicalunit --op new --tid 1 --lun 1 --backing-store {disk}
$order logicalunit --op update --tid 1 --lun 1 --params scsi_sn=SHARED1
$order target --op bind --tid 1 --initiator-address ALL
wait $server
"""
SERVICE_ADDRESS, TARGET = "10.66.0.100", "iqn.2003-01.org.example:shared"
# linux/sched.h; os.setns() is of Python 3.12.
_CLONE_NEWNET = 0x40000000
_CLIENT_ADDRESS = "10.66.0.254"
_DISK_BYTES = 16 << 20


def missing() -> str | None:
    """Return why no cluster can run here; None if one can."""
    if os.geteuid() != 0:
        return "only root makes namespaces"
    lacking = [one for one in _PROGRAMS if shutil.which(one) is None]
    lacking += [one for one in _AGENTS if not (_AGENTS_FOLDER / one).exists()]
    packages = "pacemaker, corosync, resource-agents, tgt"
    return f"{', '.join(lacking)} not installed (Debian: {packages})" if lacking else None


def _have_started(state: str) -> bool:
    """Whether no resource is failed, stopped or on its way; a failed one is up until it stops."""
    resources = list(etree.fromstring(state).iterfind("resources//resource"))
    return bool(resources) and all(
        one.get("role") == "Started" and one.get("failed") == "false" for one in resources
    )


class Cluster:
    """Three nodes; ``close`` ends all of them.

    They share a service: a group of an address, an iSCSI server behind it, and a mark that it is
    ready, which begins on the first node. Its LUN is one file, as if the nodes shared a disk.
    """

    def __init__(self, folder: Path) -> None:
        """Make and start it."""
        self.folder = folder
        disk = folder / "disk"
        disk.write_bytes(os.urandom(_DISK_BYTES))
        program = folder / "export"
        program.write_text(_EXPORT.format(target=TARGET, disk=disk))
        program.chmod(0o755)
        service = _SERVICE.format(address=SERVICE_ADDRESS, program=program)
        self._cib = _CIB.format(resources=service)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._inside: dict[str, int] = {}
        self._switch = self._begun("unshare", "--net", "sleep", "infinity")
        self._wait(lambda: self._has_own_network(self._switch.pid))
        self._in(self._switch.pid, "ip", "link", "add", "lan", "type", "bridge")
        self._in(self._switch.pid, "ip", "link", "set", "lan", "up")
        self._in(self._switch.pid, "ip", "address", "add", f"{_CLIENT_ADDRESS}/24", "dev", "lan")
        for number, name in enumerate(NODES, start=1):
            self._node(name, number)

    def _node(self, name: str, number: int) -> None:
        place = self.folder / name
        for part in ("etc", "corosync", "pacemaker", "log"):
            (place / part).mkdir(parents=True)
        for part in ("cib", "pengine", "blackbox", "cores"):
            (place / "pacemaker" / part).mkdir()
            shutil.chown(place / "pacemaker" / part, "hacluster", "haclient")
        cib = place / "pacemaker/cib/cib.xml"
        cib.write_text(self._cib)
        cib.chmod(0o600)
        shutil.chown(cib, "hacluster", "haclient")
        for part in ("pacemaker", "log"):
            shutil.chown(place / part, "hacluster", "haclient")
        nodes = "\n".join(
            f"node {{\nring0_addr: 10.66.0.{at}\nname: {one}\nnodeid: {at}\n}}"
            for at, one in enumerate(NODES, start=1)
        )
        (place / "etc/corosync.conf").write_text(_COROSYNC.format(nodes=nodes))
        spaces = ("--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--mount-proc")
        words = ("/bin/sh", "-c", _NODE, "sh", str(place), name, str(number))
        started = self._begun("unshare", *spaces, "--kill-child", *words)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        self._wait(lambda: bool(children.read_text().split()))
        inside = int(children.read_text().split()[0])
        self._wait(lambda: self._has_own_network(inside))
        self._inside[name] = inside
        own = str(self._switch.pid)
        pair = ("type", "veth", "peer", "name", "eth0", "netns", str(inside))
        self._in(int(own), "ip", "link", "add", f"to-{name}", *pair)
        self._in(int(own), "ip", "link", "set", f"to-{name}", "master", "lan", "up")

    def run(self, node: str, *words: str) -> str:
        """Run a program in a node and return what it printed."""
        pid = str(self._inside[node])
        return subprocess.run(
            [_NSENTER, "-t", pid, "-a", *words], capture_output=True, text=True, check=True
        ).stdout

    def state(self, node: str = "n1") -> str:
        """Return what ``crm_mon`` tells as XML."""
        return self.run(node, "crm_mon", "-1", "--inactive", "--output-as=xml")

    def log(self, node: str) -> Path:
        """Return the log of a node."""
        return self.folder / node / "log/pacemaker.log"

    def wait_for(self, words: str, node: str = "n1", seconds: float = 90) -> None:
        """Wait until ``crm_mon`` of a node shows these words."""

        def is_shown() -> bool:
            try:
                return words in self.state(node)
            except subprocess.CalledProcessError:
                return False

        self._wait(is_shown, seconds)

    def wait_begun(self) -> None:
        """Wait until all nodes are online, and the group is on the first."""
        self.wait_for('nodes_configured number="3"')
        for name in NODES:
            self.wait_for(f'<node name="{name}" id="{name[1]}" online="true"')
        self.wait_online("n1")

    def wait_online(self, *on: str) -> None:
        """Wait until all resources have started, and the service is open on one of these nodes."""

        def is_there() -> bool:
            try:
                told = self.run(on[-1], "crm_resource", "-W", "-r", "ready").strip()
                node = told.rpartition(" ")[2]
                show = ("tgtadm", "--lld", "iscsi", "--mode", "target", "--op", "show")
                is_open = node in on and "ALL" in self.run(node, *show)
                return is_open and _have_started(self.state(on[-1]))
            except subprocess.CalledProcessError:
                return False

        self._wait(is_there, 60)

    def cut(self, name: str) -> None:
        """Take a node's cable away."""
        self._in(self._switch.pid, "ip", "link", "set", f"to-{name}", "down")

    @property
    def address(self) -> str:
        """The address that leads to the service wherever it is, for who has entered its network."""
        return f"iscsi://{SERVICE_ADDRESS}/{TARGET}/1"

    def enter_network(self) -> None:
        """Put this thread, and those that it begins from now on, into the network of the nodes."""
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{self._switch.pid}/ns/net").open() as network:
            if libc.setns(network.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def close(self) -> None:
        """End all that was started."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _begun(self, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
        self._processes.append(process)
        return process

    @staticmethod
    def _in(pid: int, *words: str) -> None:
        subprocess.run([_NSENTER, "-t", str(pid), "-n", *words], check=True)

    @staticmethod
    def _has_own_network(pid: int) -> bool:
        return not Path(f"/proc/{pid}/ns/net").samefile("/proc/self/ns/net")

    @staticmethod
    def _wait(is_so: Callable[[], bool], seconds: float = 20) -> None:
        until = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < until, "it did not come to be in time"
            time.sleep(0.1)
