"""The tree of the lab's native packages: its wheel with all that it needs, for one Python.

What no distribution has in the versions that are tested comes
with it (numpy 2, SQLAlchemy 2.1, Typer 0.28), in a folder that nothing else looks into.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from bill import Carried
from native import LAB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["PYTHONS", "brought", "carried", "lab_files", "pins"]

# Of Debian 12 and RHEL 8 and later, of Ubuntu 24.04, of Debian 13.
PYTHONS = ("3.11", "3.12", "3.13")
_TAGS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux2014")
# They build the lab, and do not run it.
_BUILDERS = ("maturin",)
_COMMAND = """#!/usr/bin/python{python} -I
import sys

sys.path.insert(0, "{lab}")
from fathom.__main__ import main

sys.exit(main())
"""


def brought(source: Path, arch: str, python: str, folder: Path) -> list[Path]:
    """Fetch what is pinned in requirements.txt, by hash, for another machine's Python."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "requirements.txt"
    listed.write_text("".join(pins((source / "requirements.txt").read_text())))
    words = ["download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    words += ["--python-version", python, "--implementation", "cp"]
    words += [word for tag in _TAGS for word in ("--platform", f"{tag}_{arch}")]
    subprocess.run(  # noqa: S603 - All words are ours.
        [sys.executable, "-m", "pip", *words, "-r", str(listed), "-d", str(folder)], check=True
    )
    return sorted(folder.glob("*.whl"))


def pins(text: str) -> Iterator[str]:
    """Return the lines of what the lab needs to run."""
    kept = False
    for line in text.splitlines(keepends=True):
        if line[:1].isalnum():
            kept = line.split("==")[0].lower() not in _BUILDERS
        if kept:
            yield line


def lab_files(own: Path, others: list[Path], python: str) -> dict[str, tuple[bytes, int]]:
    """Return the files by their places in the file system."""
    files = {"usr/bin/fathom": (_COMMAND.format(python=python, lab=LAB).encode(), 0o755)}
    for wheel in [own, *others]:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                place = _place(entry.filename, is_ours=wheel == own)
                if place and not entry.is_dir():
                    mode = 0o755 if place.endswith(".so") else 0o644
                    files[place] = (archive.read(entry), mode)
    return files


def _place(name: str, *, is_ours: bool) -> str:
    """Return where a wheel's file goes; commands, except ours, do not."""
    first, _, rest = name.partition("/")
    if not first.endswith(".data"):
        return f"{LAB[1:]}/{name}"
    kind, _, inside = rest.partition("/")
    if kind in {"purelib", "platlib"}:
        return f"{LAB[1:]}/{inside}"
    # The licences of the whole come with the package of diskspd.
    is_shared = is_ours and kind == "data" and "diskspd" not in inside and "/doc/" not in inside
    return f"usr/{inside}" if is_shared else ""


def carried(source: Path, wheels: list[Path]) -> list[Carried]:
    """Return what the wheels are, with the licences that the list of all packages tells."""
    listed = json.loads((source / "docs" / "sbom.cdx.json").read_text())["components"]
    known = {one["purl"]: one["licenses"][0]["expression"] for one in listed if "purl" in one}
    found = []
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        name = name.lower().replace("_", "-")
        licence = known[f"pkg:pypi/{name}@{version}"]
        found.append(Carried("pypi", name, version, licence))
    return found
