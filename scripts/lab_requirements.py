"""Write requirements.txt: of what is pinned for developing, the part that the lab itself needs.

    scripts/lab_requirements.py [--check]

``make demo`` installs that part alone. It is what pyproject.toml names (without extras) with all
that it needs, and maturin, which builds it; pins and hashes are those of requirements-dev.txt.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
WHOLE = ROOT / "requirements-dev.txt"
PART = ROOT / "requirements.txt"
HEADER = "# Written by `make sbom`: what the lab needs to be built and to run.\n"
BUILDER = "maturin"


def canonical(name: str) -> str:
    """Return the one spelling of a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def blocks(text: str) -> dict[str, str]:
    """Return the requirements of a file by name, each with its hashes."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1].isalnum():
            name = canonical(Requirement(line.split("--hash")[0].rstrip(" \\\n")).name)
            found[name] = ""
        if name and line.strip():
            found[name] += line
    return found


def needed(roots: list[str]) -> set[str]:
    """Return the names of packages with all that they need, by what is installed."""
    found: set[str] = set()
    waiting = [(Requirement(root), "") for root in roots]
    while waiting:
        asked, extra = waiting.pop()
        if asked.marker is not None and not asked.marker.evaluate({"extra": extra}):
            continue
        name = canonical(asked.name)
        if name in found and not asked.extras:
            continue
        found.add(name)
        told = [Requirement(one) for one in metadata.requires(asked.name) or []]
        waiting += [(one, extra) for one in told for extra in {"", *asked.extras}]
    return found


def part() -> str:
    """Return what requirements.txt has to hold."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = needed([*project["dependencies"], BUILDER])
    pinned = blocks(WHOLE.read_text())
    return HEADER + "".join(pinned[name] for name in sorted(names))


def main() -> int:
    """Write it, or tell whether it is current."""
    if "--check" not in sys.argv[1:]:
        PART.write_text(part())
        return 0
    if PART.read_text() == part():
        return 0
    print("requirements.txt is out of date: run `make sbom`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
