"""Look up known vulnerabilities of all that is locked, where a database of them can be reached.

    scripts/audit.py

The databases are those of PyPI's advisories (pip-audit) and of RustSec (cargo audit), so this is no
part of ``make check``, which needs no network. Exit code 1: something is known. Exit code 3: a
database could not be reached, so that of its packages nothing is known either way.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP_AUDIT = "pip-audit==2.10.0"
LIMIT_S = 600
UNKNOWN = 3
# What both tools print where they have reached their database.
_REACHED = ("No known vulnerabilities found", "known vulnerabilit", "Scanning Cargo.lock")


def looked_up(what: str, command: list[str | Path]) -> int:
    """Run a tool and show what it says; 0, 1 if something is known, or ``UNKNOWN``."""
    try:
        done = subprocess.run(  # noqa: S603 - A list of arguments, without a shell.
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"audit: {what}: nothing was looked up: {error}")
        return UNKNOWN
    said = done.stdout + done.stderr
    is_reached = any(words in said for words in _REACHED)
    if done.returncode == 0 and is_reached:
        print(f"audit: {what}: nothing is known")
        return 0
    if is_reached:
        print(said, end="")
        return 1
    why = next(iter(reversed(said.strip().splitlines())), "it says nothing")
    print(f"audit: {what}: no database could be reached, so nothing was looked up: {why}")
    return UNKNOWN


def python_packages() -> int:
    """Look up what requirements-dev.txt pins; the tool is installed into a folder of its own."""
    what = "Python packages"
    with tempfile.TemporaryDirectory() as name:
        tool = Path(name) / "tool"
        steps: list[list[str | Path]] = [
            [sys.executable, "-m", "venv", tool],
            [tool / "bin/pip", "install", "--quiet", PIP_AUDIT],
        ]
        for command in steps:
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                print(f"audit: {what}: {PIP_AUDIT} cannot be installed, so nothing was looked up")
                return UNKNOWN
        how = ["--progress-spinner", "off", "--disable-pip", "--require-hashes", "-r"]
        return looked_up(what, [tool / "bin/pip-audit", *how, "requirements-dev.txt"])


def crates() -> int:
    """Look up what Cargo.lock pins."""
    if shutil.which("cargo-audit") is None:
        print("audit: crates: cargo-audit is not installed (cargo install cargo-audit), so nothing")
        print("audit: crates: was looked up")
        return UNKNOWN
    return looked_up("crates", ["cargo", "audit"])


def main() -> int:
    """Look up both."""
    codes = {python_packages(), crates()}
    return 1 if 1 in codes else max(codes)


if __name__ == "__main__":
    sys.exit(main())
