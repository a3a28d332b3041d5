"""Draw the table of what `make dist` has built: sizes, needs, and the line of each test.

    scripts/dist/table.py [FOLDER] [--write docs/artefacts.md]      FOLDER: target/dist

What the scripts told of an artefact stands in FOLDER.log, each line with the artefact's SHA-256: it
counts only for the very file that was tried. Without --write the table is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEGIN = "<!-- drawn by make dist-table -->"
END = "<!-- end of what is drawn -->"
ARCHES = {"x86_64": "amd64", "aarch64": "arm64"}
_OF_THE_BINARY = re.compile(r"dist-guard: [0-9a-f]+\.\.\. of ")
_SOME_FAILED = re.compile(r"\b[1-9][0-9]* (?:failed|errors?)\b")
_SOME_PASSED = re.compile(r"\b[1-9][0-9]* passed\b")
_GLIBC = "glibc 2.28: Debian 10, Ubuntu 20.04, RHEL 8 or later"


@dataclass(frozen=True)
class Artefact:
    """A kind of artefact, whose names have the version for `*` and the architecture for `@`."""

    pattern: str
    has: str
    needs: str

    @property
    def name(self) -> str:
        """Return its name for people."""
        return self.pattern.replace("*", "V").replace("@", "ARCH")

    def found(self, names: list[str], arch: str) -> list[str]:
        """Return those of these names that are of this kind."""
        wanted = (self.pattern.replace("@", one) for one in (arch, ARCHES[arch]))
        patterns = {*wanted}
        return [name for name in names if any(fnmatch(name, one) for one in patterns)]


ARTEFACTS = (
    Artefact(
        "diskspd-*-@-linux.tar.gz",
        "`diskspd`, manual page, completions, licences",
        f"{_GLIBC}; libblkid if it is there",
    ),
    Artefact("diskspd-*-@-linux-debug.tar.gz", "its debug data", "a debugger"),
    Artefact(
        "diskspd-*-@-linux-static.tar.gz",
        "the same as one static binary (musl), with libblkid in it",
        "a Linux kernel",
    ),
    Artefact(
        "diskspd-*-@-image.tar",
        "the static binary as a container image (OCI layout), from scratch",
        "a container engine",
    ),
    Artefact("fathom-diskspd_*_@.deb", "the files of the first", "glibc 2.28, libblkid"),
    Artefact("fathom-diskspd-*-1.@.rpm", "the files of the first", "glibc 2.28, libblkid"),
    Artefact(
        "fathom-lab_*+python3.11_@.deb",
        "`fathom`, its manual page and completions, and the packages of Python that it needs, in "
        "`/usr/lib/fathom-lab`",
        "the .deb above, and Python 3.11 (Debian 12)",
    ),
    Artefact(
        "fathom-lab_*+python3.12_@.deb",
        "the same",
        "the .deb above, and Python 3.12 (Ubuntu 24.04)",
    ),
    Artefact(
        "fathom-lab_*+python3.13_@.deb", "the same", "the .deb above, and Python 3.13 (Debian 13)"
    ),
    Artefact(
        "fathom-lab-*+python3.11-1.@.rpm",
        "the same",
        "the .rpm above, and `/usr/bin/python3.11` (RHEL 8 and later)",
    ),
    Artefact(
        "fathom_storage-*_@.whl",
        "`fathom` and `diskspd`, the JavaScript of HTML reports, manual pages, completions",
        "Python 3.11 or later, glibc 2.28",
    ),
    Artefact(
        "fathom_storage-*.tar.gz",
        "the source, with that JavaScript",
        "Rust, a C compiler, Python 3.11 or later",
    ),
)


@dataclass(frozen=True)
class Told:
    """What was told of each file: how it was built, and what became of it."""

    folder: Path
    lines: dict[str, list[str]]

    def size(self, name: str) -> str:
        """Return its size in MB, with how it was built unless for a release."""
        size = f"{(self.folder / name).stat().st_size / 1e6:.1f}"
        built = [line for line in self.lines[name] if line.startswith("dist: ")]
        return f"{size} (quick)" if built and "--profile quick" in built[-1] else size

    def tried(self, name: str) -> list[str]:
        """Return the lines of the tests of it."""
        return [line for line in self.lines.get(name, ()) if not line.startswith("dist: ")]


def read(folder: Path) -> Told:
    """Return the lines on the files of this folder as they are now."""
    names = sorted(one.name for one in folder.iterdir() if one.is_file())
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    lines: dict[str, list[str]] = {name: [] for name in names}
    log = folder.with_name(f"{folder.name}.log")
    for line in log.read_text().splitlines() if log.exists() else ():
        digest, name, text = line.split("  ", 2)
        if digests.get(name) == digest:
            lines[name].append(text.rstrip())
    return Told(folder, lines)


def draw(told: Told) -> str:
    """Return the table and, below it, the lines of the tests."""
    names = [name for name in told.lines if not name.endswith(".cdx.json")]
    names = [name for name in names if not name.startswith("SHA256SUMS")]
    rows = ["| artefact | what it has | what it needs | x86_64, MB | aarch64, MB | tried |"]
    rows.append("|---|---|---|---:|---:|---|")
    kinds = [(kind, {arch: kind.found(names, arch) for arch in ARCHES}) for kind in ARTEFACTS]
    for kind, found in kinds:
        sizes = [" ".join(map(told.size, some)) or "not built" for some in found.values()]
        if "@" not in kind.pattern:
            sizes[1] = ""
        words = " | ".join([f"`{kind.name}`", kind.has, kind.needs, *sizes, _passed(told, found)])
        rows.append(f"| {words} |")
    unknown = {*names} - {name for _, found in kinds for some in found.values() for name in some}
    if unknown:
        sys.exit(f"dist-table: no row is for {', '.join(sorted(unknown))}")
    lines = [line for name in [*names, "SHA256SUMS"] for line in told.tried(name)]
    return "\n".join([*rows, "", "```text", *lines, "```"])


def _test(line: str) -> str:
    """Return the name of the test that a line is of: that of its part, or the guard suite."""
    script, _, rest = line.partition(": ")
    return "the guard suite" if script == "dist-guard" else rest.partition(": ")[0]


def _passed(told: Told, found: dict[str, list[str]]) -> str:
    """Return the tests of one kind, by name, those that failed said so."""
    tests: dict[str, bool] = {}
    for name in {name: None for some in found.values() for name in some}:
        for line in told.tried(name):
            tests[_test(line)] = tests.get(_test(line), True) and not _is_fault(line)
    words = [name if is_passed else f"**FAILED: {name}**" for name, is_passed in tests.items()]
    return "; ".join(words) or "no"


def _is_fault(line: str) -> bool:
    if _OF_THE_BINARY.match(line):
        return False
    if line.startswith("dist-guard: "):
        return bool(_SOME_FAILED.search(line)) or not _SOME_PASSED.search(line)
    return ": FAILED: " in line


def written(page: str, drawn: str) -> str:
    """Return a page with what is drawn between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"dist-table: the page has no place for the table: {BEGIN}, {END}")
    return f"{before}{BEGIN}\n{drawn}\n{END}{after}"


def main() -> int:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "target" / "dist")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    drawn = draw(read(asked.folder))
    if asked.write:
        asked.write.write_text(written(asked.write.read_text(), drawn))
    else:
        print(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
