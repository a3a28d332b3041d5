"""Write into the files of requirements what each package's files have to hash to.

    scripts/lock.py

pip then installs nothing else, whatever the registry or a mirror of it hands out. The pins
themselves are raised by hand. The hashes are those of the registry, of files for all systems, as
uv finds them; uv is installed into a folder of its own, and is no part of the developer's loop.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from lab_requirements import WHOLE, blocks, canonical
from packaging.requirements import Requirement

UV = "uv==0.13.9"
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


def pins(text: str) -> list[str]:
    """Return the lines of a file of requirements without hashes."""
    lines = (line.rstrip(" \\") for line in text.splitlines())
    return [line for line in lines if not line.lstrip().startswith("--hash=")]


def found_hashes(lines: list[str]) -> dict[str, list[str]]:
    """Return the hashes that the registry has, by the names of packages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "uv"], check=True)  # noqa: S603
        binaries = folder / "uv/bin"
        subprocess.run([binaries / "pip", "install", "--quiet", UV], check=True)  # noqa: S603
        (folder / "pins.txt").write_text("\n".join(lines) + "\n")
        how = ["--generate-hashes", "--no-deps", "--universal", "--no-header", "--no-annotate"]
        subprocess.run(  # noqa: S603 - A list of arguments, without a shell.
            [binaries / "uv", "pip", "compile", "--quiet", *how, "-o", "out.txt", "pins.txt"],
            cwd=folder,
            check=True,
        )
        found = blocks((folder / "out.txt").read_text())
    return {name: sorted(set(_HASH.findall(text))) for name, text in found.items()}


def locked(lines: list[str], hashes: dict[str, list[str]]) -> str:
    """Return the lines, each requirement with its hashes."""
    made = []
    for line in lines:
        if line and not line.startswith("#"):
            mine = hashes[canonical(Requirement(line).name)]
            made.append(" \\\n".join([line, *(f"    --hash={one}" for one in mine)]))
        else:
            made.append(line)
    return "\n".join(made) + "\n"


def main() -> None:
    """Write them."""
    for file in (WHOLE, WHOLE.with_name("requirements-openapi.txt")):
        lines = pins(file.read_text())
        file.write_text(locked(lines, found_hashes(lines)))


if __name__ == "__main__":
    main()
