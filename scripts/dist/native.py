"""Packages of Debian and of those that use RPM, by their own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["deb", "rpm"]

NAME = "fathom-diskspd"
ABOUT = "Measure storage: a drop-in for Microsoft's DiskSpd"
MORE = (
    "One native binary with DiskSpd's command line, XML profiles and results, which says when "
    "it did not measure the device."
)
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def deb(tree: Path, arch: str, version: str, epoch: int, out: Path) -> Path:
    """Write the package of Debian and Ubuntu of a tree of files."""
    kib = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    fields = {
        "Package": NAME,
        "Version": version,
        "Architecture": DEBIAN[arch],
        "Maintainer": "The Fathom developers <fathom-storage@localhost>",
        "Installed-Size": str(kib),
        # libblkid is loaded at run time, and a device is only written where it can be asked.
        "Depends": "libc6 (>= 2.28), libblkid1",
        "Section": "admin",
        "Priority": "optional",
        "Description": f"{ABOUT}\n {MORE}",
    }
    # Debian's zsh looks there for what packages bring.
    functions = tree / "usr/share/zsh/site-functions"
    vendor = functions.with_name("vendor-completions")
    functions.rename(vendor)
    control = tree / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    place = out / f"{NAME}_{version}_{DEBIAN[arch]}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(place)]
    _run(command, epoch)
    shutil.rmtree(control.parent)
    vendor.rename(functions)
    return place


_SPEC = """Name: {name}
Version: {version}
Release: 1
Summary: {about}
License: MIT OR Apache-2.0
Requires: libblkid
AutoReqProv: yes
%description
{more}
%install
cp -a {tree}/. %{{buildroot}}/
%files
{files}
"""


def rpm(tree: Path, arch: str, version: str, epoch: int, out: Path) -> Path:
    """Write the package for RPM of a tree of files."""
    work = tree.parent / "rpm"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    files = sorted(f"/{path.relative_to(tree)}" for path in tree.rglob("*") if path.is_file())
    spec = work / "diskspd.spec"
    spec.write_text(
        _SPEC.format(
            name=NAME,
            version=version,
            about=ABOUT,
            more=MORE,
            tree=tree,
            files="\n".join(files),
        )
    )
    settings = {
        "_topdir": str(work),
        "_buildhost": "localhost",
        "use_source_date_epoch_as_buildtime": "1",
        "clamp_mtime_to_source_date_epoch": "1",
        # Nothing is stripped or compressed again: it comes as all other artefacts have it.
        "__os_install_post": "%{nil}",
        "debug_package": "%{nil}",
        "_build_id_links": "none",
        "_binary_payload": "w9.gzdio",
    }
    words = [word for name, value in settings.items() for word in ("--define", f"{name} {value}")]
    _run(["rpmbuild", "-bb", "--quiet", "--target", f"{arch}-linux", *words, str(spec)], epoch)
    (built,) = (work / "RPMS" / arch).glob("*.rpm")
    place = out / built.name
    shutil.copy(built, place)
    return place


def _run(command: list[str], epoch: int) -> None:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C", "TZ": "UTC"}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
