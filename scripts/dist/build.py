"""Build what people install: archives, packages, wheel, image, with bills, sums and signature.

    scripts/dist/build.py [--out target/dist] [--arch x86_64] [--only gnu,musl,wheel,lab,sdist]
                          [--profile release|quick]

What is committed is built, in a folder of its own. Two builds of one commit are equal, wherever
they are made (``make dist-check``): no path, time or order of files comes into an artefact.
``--profile quick`` leaves out what makes the compiler slow, to try the packaging.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import completions
import manual
from archive import folder_members, tar_gz
from bill import Carried, write_bill
from fathom.report.render import _bundle
from image import write_image
from lab import PYTHONS, brought, carried, lab_files
from native import DISKSPD, deb, lab, rpm

from crates import Crate, built_in, licence_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from native import Package

ROOT = Path(__file__).resolve().parents[2]
GLIBC = "2.28"
# What zig makes on the way is named in the debug data; so it has one place.
ZIG_CACHE = Path("/var/tmp/fathom-zig")  # noqa: S108 - Its content is zig's to check.
QUICK = {
    "CARGO_PROFILE_RELEASE_LTO": "off",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_OPT_LEVEL": "1",
}
LIBBLKID = Carried("deb", "util-linux-libblkid", "2.38.1", "LGPL-2.1-or-later")
MUSL = Carried("generic", "musl", "1.2.5", "MIT")
VEGA = Carried("npm", "vega-bundle", "vl-convert", "BSD-3-Clause")


@dataclass(frozen=True)
class Work:
    """One build: what, where, how."""

    out: Path
    folder: Path
    arch: str
    version: str
    epoch: int
    profile: str
    # What is committed while it is built comes into no artefact.
    commit: str

    @property
    def source(self) -> Path:
        """The tree that is built."""
        return self.folder / "source"

    def environment(self) -> dict[str, str]:
        """Return what the compilers are told by their environment."""
        cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
        remapped = {self.source: "/fathom", cargo: "/cargo", self.folder: "/build"}
        flags = " ".join(f"--remap-path-prefix={old}={new}" for old, new in remapped.items())
        return {
            **os.environ,
            "CARGO_TARGET_DIR": str(self.folder / "target"),
            "CARGO_INCREMENTAL": "0",
            "RUSTFLAGS": flags,
            "SOURCE_DATE_EPOCH": str(self.epoch),
            "ZIG_GLOBAL_CACHE_DIR": str(ZIG_CACHE),
            "ZIG_LOCAL_CACHE_DIR": str(ZIG_CACHE),
            "CARGO_ZIGBUILD_CACHE_DIR": str(ZIG_CACHE / "zigbuild"),
            **(QUICK if self.profile == "quick" else {}),
        }

    def run(self, *words: str, **more: str) -> None:
        """Run a command in the tree; its failure ends all."""
        environment = {**self.environment(), **more}
        subprocess.run(words, check=True, cwd=self.source, env=environment)  # noqa: S603


def export(work: Work) -> None:
    """Put what is committed into the folder of the build, with the bundle of the page."""
    before = work.folder / "source-before"
    shutil.rmtree(before, ignore_errors=True)
    if work.source.exists():
        work.source.rename(before)
    work.source.mkdir(parents=True)
    command = ["git", "-C", str(ROOT), "archive", work.commit]
    packed = subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        # Python 3.11.2, which Debian 12 has, knows no filter.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(work.source)  # noqa: S202 - It is our own.
    page = work.source / "python/fathom/report/page"
    bundle = _bundle.built_file()
    (page / bundle.name).write_text(_bundle.javascript(), encoding="utf-8")
    date(work.source, before)
    shutil.rmtree(before, ignore_errors=True)


def date(source: Path, before: Path) -> None:
    """Let what is the same keep its time, and all else be of now: cargo goes by times alone.

    Git gives every file the commit's time, which can be before the last build of another commit.
    """
    for path in source.rglob("*"):
        if path.is_file():
            old = before / path.relative_to(source)
            is_same = old.is_file() and old.read_bytes() == path.read_bytes()
            seen = old.stat().st_mtime_ns if is_same else time.time_ns()
            os.utime(path, ns=(seen, seen))


def share(work: Work, *commands: str) -> dict[str, tuple[bytes, int]]:
    """Return manual pages, completions and licences of these commands, below ``share``."""
    folder = work.folder / "share"
    shutil.rmtree(folder, ignore_errors=True)
    completions.write_all(folder)
    pages = folder / "man" / "man1"
    pages.mkdir(parents=True)
    shutil.copy(work.source / "docs" / "diskspd.1", pages)
    (pages / "fathom.1").write_text(manual.page(), encoding="utf-8")
    every = folder_members(folder, "share/")
    kept = {name: file for name, file in every.items() if _command_of(name) in commands}
    for licence in ("LICENSE", "LICENSE-MIT", "LICENSE-APACHE"):
        kept[f"share/doc/fathom-storage/{licence}"] = ((work.source / licence).read_bytes(), 0o644)
    return kept


def _command_of(name: str) -> str:
    return Path(name).name.split(".")[0].lstrip("_")


def binary(work: Work, libc: str) -> tuple[bytes, bytes]:
    """Return ``diskspd`` without debug data, and the debug data."""
    target = f"{work.arch}-unknown-linux-{libc}"
    asked = f"{target}.{GLIBC}" if libc == "gnu" else target
    more = {}
    if libc == "musl":
        more["FATHOM_LIBBLKID"] = str(libblkid(work))
    if shutil.which("rustup"):
        work.run("rustup", "--quiet", "target", "add", target)
    words = ["cargo", "zigbuild", "--release", "--locked", "--bin", "diskspd"]
    work.run(*words, "--target", asked, **more)
    built = work.folder / "target" / target / "release" / "diskspd"
    return stripped(work, built)


def libblkid(work: Work) -> Path:
    """Return the folder with the library that the static binary carries."""
    folder = work.folder / "libblkid" / work.arch
    if not (folder / "libblkid.a").exists():
        script = work.source / "scripts/dist/libblkid.sh"
        zig = f"{work.arch}-linux-musl"
        work.run(str(script), zig, str(folder), ZIG=f"{sys.executable} -m ziglang")
        (folder / f"libblkid-{zig}.a").rename(folder / "libblkid.a")
    return folder


def stripped(work: Work, built: Path) -> tuple[bytes, bytes]:
    """Return a binary without its symbols, and a file with them, of the same build ID."""
    tool = "objcopy" if os.uname().machine == work.arch else f"{work.arch}-linux-gnu-objcopy"
    debug, lean = (work.folder / name for name in ("diskspd.debug", "diskspd"))
    work.run(tool, "--only-keep-debug", "--compress-debug-sections", str(built), str(debug))
    work.run(tool, "--strip-all", str(built), str(lean))
    work.run(tool, f"--add-gnu-debuglink={debug}", str(lean))
    return lean.read_bytes(), debug.read_bytes()


def native(work: Work) -> None:
    """Build the archive for glibc, and the packages with the same files."""
    code, debug = binary(work, "gnu")
    crates = built_in(work.source, "fathom-storage", f"{work.arch}-unknown-linux-gnu")
    files = share(work, "diskspd")
    files["share/doc/fathom-storage/THIRD-PARTY"] = (licence_texts(crates), 0o644)
    files["bin/diskspd"] = (code, 0o755)
    stem = f"diskspd-{work.version}-{work.arch}-linux"
    members = {f"{stem}/{name}": file for name, file in files.items()}
    archive = tar_gz(members, work.epoch, work.out / f"{stem}.tar.gz")
    symbols = {f"{stem}-debug/diskspd.debug": (debug, 0o644)}
    tell(work, tar_gz(symbols, work.epoch, work.out / f"{stem}-debug.tar.gz"))
    tree = laid(work, {f"usr/{name}": file for name, file in files.items()})
    made = [packed(work, DISKSPD, tree, make) for make in (deb, rpm)]
    bills(work, [archive, *made], crates, [])


def laid(work: Work, files: dict[str, tuple[bytes, int]]) -> Path:
    """Put files into a tree, all of the commit's time."""
    tree = work.folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name, (content, mode) in files.items():
        _put(tree / name, content, mode)
    for path in sorted(tree.rglob("*")):
        os.utime(path, (work.epoch, work.epoch))
    return tree


def packed(work: Work, package: Package, tree: Path, make: Callable[..., Path]) -> Path:
    """Make a native package; what makes it reads the time from the environment."""
    os.environ["SOURCE_DATE_EPOCH"] = str(work.epoch)
    return make(package, tree, work.arch, work.version, work.out)


def lab_packages(work: Work) -> None:
    """Build the lab's native packages from its wheel, each with what it needs."""
    (own,) = work.out.glob(f"fathom_storage-{work.version}-*_{work.arch}.whl")
    crates = built_in(work.source, "fathom-storage-py", f"{work.arch}-unknown-linux-gnu")
    for python in PYTHONS:
        folder = work.folder / "wheels" / f"{work.arch}-{python}"
        wheels = brought(work.source, work.arch, python, folder)
        tree = laid(work, lab_files(own, wheels, python))
        made = [packed(work, lab(python, work.version), tree, deb)]
        # RHEL 8 and later have this one; others that use RPM have it, too.
        if python == PYTHONS[0]:
            made.append(packed(work, lab(python, work.version), tree, rpm))
        bills(work, made, crates, [VEGA, *carried(work.source, wheels)])
        shutil.rmtree(tree)


def static(work: Work) -> None:
    """Build the static binary, and the image that holds it."""
    code, _ = binary(work, "musl")
    crates = built_in(work.source, "fathom-storage", f"{work.arch}-unknown-linux-musl")
    third = (licence_texts(crates), 0o644)
    stem = f"diskspd-{work.version}-{work.arch}-linux-static"
    files = share(work, "diskspd") | {"bin/diskspd": (code, 0o755)}
    files["share/doc/fathom-storage/THIRD-PARTY"] = third
    members = {f"{stem}/{name}": file for name, file in files.items()}
    archive = tar_gz(members, work.epoch, work.out / f"{stem}.tar.gz")
    inside = {"diskspd": (code, 0o755), "licences/THIRD-PARTY": third, "data/.keep": (b"", 0o644)}
    place = work.out / f"diskspd-{work.version}-{work.arch}-image.tar"
    image = write_image(inside, work.arch, work.version, work.epoch, place)
    bills(work, [archive, image], crates, [LIBBLKID, MUSL])


def wheel(work: Work) -> None:
    """Build the wheel, with both commands and the bundle of the page."""
    code, _ = binary(work, "gnu")
    data = work.source / "fathom._fathom.data"
    for name, (content, mode) in share(work, "diskspd", "fathom").items():
        _put(data / "data" / name, content, mode)
    _put(data / "scripts" / "diskspd", code, 0o755)
    target = f"{work.arch}-unknown-linux-gnu"
    words = ["maturin", "build", "--release", "--locked", "--strip", "--zig"]
    words += ["--compatibility", f"manylinux_{GLIBC.replace('.', '_')}"]
    work.run(*words, "--target", target, "--out", str(work.out))
    (made,) = work.out.glob(f"fathom_storage-{work.version}-*_{work.arch}.whl")
    with zipfile.ZipFile(made) as archive:
        named = [
            one for one in archive.namelist() if str(work.folder).encode() in archive.read(one)
        ]
    if named:
        sys.exit(f"dist: {made.name} names the folder that it was built in: {named}")
    crates = built_in(work.source, "fathom-storage-py", target)
    bills(work, [made], crates, [VEGA])


def _put(place: Path, content: bytes, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    place.chmod(mode)


def sdist(work: Work) -> None:
    """Write the source distribution: what is committed, and the bundle of the page."""
    export(work)
    stem = f"fathom_storage-{work.version}"
    project = tomllib.loads((work.source / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {work.version}"]
    lines += [
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
    ]
    lines += [f"License-Expression: {project['license']}"]
    lines += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {one} ; extra == "{extra}"' for one in needs]
    files = folder_members(work.source, f"{stem}/")
    files[f"{stem}/PKG-INFO"] = ("\n".join([*lines, ""]).encode(), 0o644)
    made = tar_gz(files, work.epoch, work.out / f"{stem}.tar.gz")
    bills(work, [made], [], [VEGA])


def bills(work: Work, made: list[Path], crates: list[Crate], carried: list[Carried]) -> None:
    """Write the bill of materials of each artefact."""
    for artefact in made:
        write_bill(artefact, work.version, work.epoch, crates, carried)
        tell(work, artefact)


def tell(work: Work, artefact: Path) -> None:
    """Say how large an artefact is, and how it was built."""
    size, how = artefact.stat().st_size, work.profile
    line = f"dist: {artefact.name}: {size:,} bytes, built with --profile {how}"
    print(line)
    keep(work.out, artefact, line)


def keep(out: Path, artefact: Path, line: str) -> None:
    """Keep the lines on an artefact beside their folder, for table.py."""
    log = out.with_name(f"{out.name}.log")
    before = log.read_text().splitlines(keepends=True) if log.exists() else []
    kept = [one for one in before if f"  dist: {artefact.name}: " not in one]
    digest = hashlib.sha256(artefact.read_bytes()).hexdigest()
    log.write_text("".join([*kept, f"{digest}  {artefact.name}  {line}\n"]))


def sums(out: Path) -> None:
    """Write SHA256SUMS, and sign it if there is a key (docs/releasing.md)."""
    files = sorted(path for path in out.iterdir() if not path.name.startswith("SHA256SUMS"))
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    place = out / "SHA256SUMS"
    place.write_text("".join(lines))
    # One of earlier sums would not hold for these.
    place.with_name("SHA256SUMS.minisig").unlink(missing_ok=True)
    key = os.environ.get("FATHOM_SIGNING_KEY")
    if key:
        words = ["minisign", "-S", "-s", key, "-m", str(place), "-t", "SHA256SUMS of Fathom"]
        subprocess.run(words, check=True)  # noqa: S603
    else:
        print("dist: not signed: FATHOM_SIGNING_KEY names no key (docs/releasing.md)")


KINDS = {"gnu": native, "musl": static, "wheel": wheel, "lab": lab_packages, "sdist": sdist}


def main() -> int:
    """Build what is requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "dist")
    parser.add_argument("--work", type=Path, default=ROOT / "target" / "dist-work")
    parser.add_argument("--arch", action="append", choices=["x86_64", "aarch64"])
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--profile", default="release", choices=["release", "quick"])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    told = subprocess.run(  # noqa: S603 - All words are ours.
        ["git", "-C", str(ROOT), "log", "-1", "--format=%H %ct"],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    commit, epoch = told.stdout.split()
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    for arch in asked.arch or ["x86_64", "aarch64"]:
        folder = asked.work.absolute()
        out = asked.out.absolute()
        work = Work(out, folder, arch, version, int(epoch), asked.profile, commit)
        export(work)
        for kind in asked.only.split(","):
            KINDS[kind](work)
    sums(asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
