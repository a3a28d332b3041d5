"""Packages of Debian and of those that use RPM, by their own tools."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DISKSPD", "Package", "deb", "lab", "rpm"]

DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Package:
    """What a package says of itself, and what is done when it is installed and removed."""

    name: str
    about: str
    more: str
    depends: str
    requires: str
    conflicts: str = ""
    # What else is part of the version's name: one package for each Python.
    suffix: str = ""
    # Shell commands.
    installed: str = ""
    removed: str = ""
    # RPM reads what libraries need and offer out of them, unless they are for this package alone.
    has_own_libraries: bool = False
    # How a .deb is compressed.
    packing: tuple[str, ...] = ("-Zxz",)


DISKSPD = Package(
    name="fathom-diskspd",
    about="Measure storage: a drop-in for Microsoft's DiskSpd",
    more="One native binary with DiskSpd's command line, XML profiles and results, which says when "
    "it did not measure the device.",
    # libblkid is loaded at run time, and a device is only written where it can be asked.
    depends="libc6 (>= 2.28), libblkid1",
    # Its package is called libblkid or libblkid1: all of them offer the library itself.
    requires="libblkid.so.1()(64bit)",
)
LAB = "/usr/lib/fathom-lab"


def lab(python: str, version: str) -> Package:
    """Return the package of the lab for one Python, such as 3.11."""
    run = f"/usr/bin/python{python} -I -m compileall -q {LAB}"
    return Package(
        name="fathom-lab",
        about="The lab for measuring storage: assess, sweep, tune, repeat, compare, report",
        more=f"With the packages of Python {python} that it needs, in a folder of its own.",
        depends=f"python{python}, {DISKSPD.name} (= {version}), libc6 (>= 2.28)",
        requires=f"/usr/bin/python{python}, {DISKSPD.name} = {version}",
        # Its command is /usr/bin/fathom, too.
        conflicts="snap",
        suffix=f"+python{python}",
        installed=f"{run} || true",
        removed=f"find {LAB} -name __pycache__ -prune -exec rm -rf {{}} +",
        has_own_libraries=True,
        # Ten times as quick for 270 MiB, and known to all that have these Pythons.
        packing=("-Zzstd", "-z9"),
    )


def deb(package: Package, tree: Path, arch: str, version: str, out: Path) -> Path:
    """Write the package of Debian and Ubuntu of a tree of files."""
    whole = f"{version}{package.suffix}"
    kib = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    fields = {
        "Package": package.name,
        "Version": whole,
        "Architecture": DEBIAN[arch],
        "Maintainer": "The Fathom developers <fathom-storage@localhost>",
        "Installed-Size": str(kib),
        "Depends": package.depends,
        "Conflicts": package.conflicts,
        "Section": "admin",
        "Priority": "optional",
        "Description": f"{package.about}\n {package.more}",
    }
    # Debian's zsh looks there for what packages bring.
    functions = tree / "usr/share/zsh/site-functions"
    vendor = functions.with_name("vendor-completions")
    functions.rename(vendor)
    control = tree / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text("".join(f"{name}: {text}\n" for name, text in fields.items() if text))
    for name, command in (("postinst", package.installed), ("prerm", package.removed)):
        if command:
            place = control.with_name(name)
            place.write_text(f"#!/bin/sh\nset -e\n{command}\n")
            place.chmod(0o755)
    place = out / f"{package.name}_{whole}_{DEBIAN[arch]}.deb"
    _run(["dpkg-deb", "--root-owner-group", *package.packing, "--build", str(tree), str(place)])
    shutil.rmtree(control.parent)
    vendor.rename(functions)
    return place


_SPEC = """Name: {name}
Version: {version}
Release: 1
Summary: {about}
License: MIT OR Apache-2.0
Requires: {requires}
{fields}
%description
{more}
%install
cp -a {tree}/. %{{buildroot}}/
%post
{installed}
%preun
{removed}
%files
{files}
"""


def rpm(package: Package, tree: Path, arch: str, version: str, out: Path) -> Path:
    """Write the package for RPM of a tree of files."""
    work = tree.parent / "rpm"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    files = sorted(f'"/{path.relative_to(tree)}"' for path in tree.rglob("*") if path.is_file())
    # Folders of our own are ours to remove; others, such as that of manual pages, are not.
    folders = (path.relative_to(tree) for path in sorted(tree.rglob("*")) if path.is_dir())
    files += [f'%dir "/{one}"' for one in folders if "fathom" in str(one)]
    fields = [f"Conflicts: {package.conflicts}"] if package.conflicts else []
    fields += ["AutoReqProv: no" if package.has_own_libraries else "AutoReqProv: yes"]
    spec = work / "package.spec"
    spec.write_text(
        _SPEC.format(
            name=package.name,
            version=f"{version}{package.suffix}",
            about=package.about,
            more=package.more,
            requires=package.requires,
            fields="\n".join(fields),
            tree=tree,
            installed=package.installed or ":",
            removed=_last(package.removed) or ":",
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
    _run(["rpmbuild", "-bb", "--quiet", "--target", f"{arch}-linux", *words, str(spec)])
    (built,) = (work / "RPMS" / arch).glob("*.rpm")
    place = out / built.name
    shutil.copy(built, place)
    shutil.rmtree(work)
    return place


def _last(command: str) -> str:
    """Return a command for a package that is removed, and not replaced by a later one."""
    return f"[ $1 -gt 0 ] || {command}" if command else ""


def _run(command: list[str]) -> None:
    # How xz splits what it compresses would else depend on the number of CPUs.
    settled = {"DPKG_DEB_THREADS_MAX": "1", "LC_ALL": "C", "TZ": "UTC"}
    environment = {**os.environ, **settled}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
