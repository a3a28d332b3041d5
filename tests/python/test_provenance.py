"""What lies beneath a target, read from files like the kernel's, and from this machine's own."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from fathom import _provenance
from fathom._provenance import TargetProvenance, memory_bytes, target_provenance

if TYPE_CHECKING:
    import pytest


def files(root: Path, **texts: str | bytes) -> None:
    """Make files; two underscores stand for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def machine(root: Path, target: Path, beneath: Path) -> tuple[Path, Path]:
    """Return /sys and /proc in which the target's file system lies on a device."""
    number = target.stat().st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    links = root / "sys/dev/block"
    links.mkdir(parents=True)
    (links / name).symlink_to(beneath)
    files(
        root,
        proc__meminfo="MemFree: 1 kB\nMemTotal:       16384 kB\n",
        proc__self__mountinfo=(
            "20 1 9999:1 / / rw - ext2 /dev/other rw\n"
            f"21 1 {name} / /data rw,noatime shared:1 - xfs /dev/nvme0n1p2 rw,attr2\n"
        ),
    )
    return root / "sys", root / "proc"


def nvme(root: Path, name: str, serial: str) -> Path:
    """Make an NVMe disk with a partition; return its folder."""
    disk = root / "sys/devices" / name
    files(
        disk,
        size="2048\n",
        device__model="ACME Fast   \n",
        device__serial=f"{serial}\n",
        device__firmware_rev="1.2.3\n",
        queue__scheduler="[none] mq-deadline kyber\n",
        queue__write_cache="write back\n",
        queue__rotational="0\n",
    )
    files(disk / f"{name}p2", partition="2\n", size="1024\n")
    return disk


def test_a_partition_belongs_to_its_disk(tmp_path: Path) -> None:
    disk = nvme(tmp_path, "nvme0n1", "S1")
    sys, proc = machine(tmp_path, tmp_path, disk / "nvme0n1p2")
    assert target_provenance(tmp_path, sys=sys, proc=proc) == TargetProvenance(
        file_system="xfs",
        mount_options="rw,noatime;rw,attr2",
        device_names="nvme0n1",
        device_model="ACME Fast",
        device_serial="S1",
        device_firmware="1.2.3",
        device_scheduler="none",
        device_write_cache="write back",
        device_is_rotational=False,
        device_bytes=2048 * 512,
    )
    assert memory_bytes(proc) == 16 << 20


def test_volumes_are_followed_down_to_all_their_disks(tmp_path: Path) -> None:
    # A file system on an encrypted volume on a mirror of two partitions.
    slaves = []
    for name, serial in (("nvme0n1", "S1"), ("nvme1n1", "S2")):
        slaves.append(nvme(tmp_path, name, serial) / f"{name}p2")
    mirror, volume = tmp_path / "sys/devices/md0", tmp_path / "sys/devices/dm-0"
    for folder, below in ((mirror, slaves), (volume, [mirror])):
        (folder / "slaves").mkdir(parents=True)
        for one in below:
            (folder / "slaves" / one.name).symlink_to(one)
    sys, proc = machine(tmp_path, tmp_path, volume)
    found = target_provenance(tmp_path / "not" / "there", sys=sys, proc=proc)
    assert found == TargetProvenance()
    found = target_provenance(tmp_path / "missing.dat", sys=sys, proc=proc)
    assert (found.device_names, found.device_serial) == ("nvme0n1, nvme1n1", "S1, S2")
    # What is the same of all is said once.
    assert (found.device_model, found.device_bytes) == ("ACME Fast", 2 * 2048 * 512)


def test_a_scsi_disk_tells_its_serial_number_in_a_binary_page(tmp_path: Path) -> None:
    disk = tmp_path / "sys/devices/sda"
    page = b"\x00\x80\x00\x08  WD-77\x00"
    files(disk, size="4096\n", device__rev="A7\n", device__vpd_pg80=page, queue__rotational="1")
    sys, proc = machine(tmp_path, tmp_path, disk)
    found = target_provenance(tmp_path, sys=sys, proc=proc)
    assert (found.device_serial, found.device_firmware) == ("WD-77", "A7")
    assert found.device_is_rotational is True
    assert (found.device_model, found.device_scheduler) == (None, None)


def test_a_file_on_btrfs_had_neither_file_system_nor_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number is its subvolume's, which no mount has."""
    disks = [nvme(tmp_path, f"nvme{one}n1", f"S{one}") for one in range(2)]
    sys, proc = machine(tmp_path, Path("/dev/null"), disks[0])
    pool = sys / "fs/btrfs/5f-aa/devices"
    pool.mkdir(parents=True)
    for disk in disks:
        (pool / disk.name).symlink_to(disk)
    number = Path("/dev/null").stat().st_rdev
    (sys / f"dev/block/{os.major(number)}:{os.minor(number)}").symlink_to(disks[0])
    lines = (
        "20 1 9999:1 / / rw - ext2 /dev/other rw\n"
        f"21 1 0:9998 / {tmp_path} rw - btrfs /dev/null rw,subvol=/\n"
    )
    files(proc, self__mountinfo=lines)
    in_subvolume = os.stat_result((stat.S_IFREG, 1, os.makedev(0, 9999), 1, 0, 0, 0, 0, 0, 0))
    monkeypatch.setattr(_provenance, "_status", lambda _: in_subvolume)
    found = target_provenance(tmp_path / "x.dat", sys=sys, proc=proc)
    assert (found.file_system, found.mount_options) == ("btrfs", "rw;rw,subvol=/")
    assert (found.device_names, found.device_serial) == ("nvme0n1, nvme1n1", "S0, S1")


def test_this_machine_tells_something(tmp_path: Path) -> None:
    assert target_provenance(tmp_path).file_system
    assert memory_bytes() > 1 << 20
