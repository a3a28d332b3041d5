"""Hold a release to what it says: version, lock files, changelog and tag.

    scripts/release.py VERSION

Changes nothing but ``target/release-notes.md``, which gets the section of the changelog.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = {"fathom-storage", "fathom-storage-core", "fathom-storage-net", "fathom-storage-sys"}
_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?")


def section(changelog: str, version: str) -> str:
    """Return what the changelog says of a version; nothing without a heading and a date."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    found = re.search(heading + r"\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def faults(root: Path, version: str) -> list[str]:
    """Return what of a tree does not fit the version."""
    if not _VERSION.fullmatch(version):
        return [f"'{version}' is no semantic version, such as 1.2.3"]
    found = []
    manifest = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    if manifest["package"]["version"] != version:
        found.append(f"Cargo.toml says {manifest['package']['version']}, not {version}")
    asked = {name: manifest["dependencies"][name] for name in ("fathom-sys", "fathom-core")}
    others = [name for name, one in asked.items() if one["version"] != version]
    found += [f"Cargo.toml asks for another version of {name}" for name in others]
    for lock in ("Cargo.lock", "fuzz/Cargo.lock"):
        packages = tomllib.loads((root / lock).read_text())["package"]
        if any(one["name"] in OURS and one["version"] != version for one in packages):
            found.append(f"{lock} has another version: run cargo update --workspace")
    changelog = (root / "CHANGELOG.md").read_text()
    if not section(changelog, version):
        found.append(f"CHANGELOG.md has no section '## [{version}] - <date>' with words in it")
    if section_of_unreleased(changelog):
        found.append("CHANGELOG.md still has lines under [Unreleased]")
    return found


def section_of_unreleased(changelog: str) -> str:
    """Return what stands under [Unreleased]."""
    found = re.search(
        r"^## \[Unreleased\]\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return found[1].strip() if found else ""


def faults_of_git(root: Path, version: str) -> list[str]:
    """Return what of the repository does not fit: changes that are not committed, another tag."""
    found = []
    if _git(root, "status", "--porcelain"):
        found.append("there are changes that are not committed")
    tagged = _git(root, "rev-list", "-n1", f"v{version}")
    if tagged and tagged != _git(root, "rev-parse", "HEAD"):
        found.append(f"the tag v{version} stands at another commit")
    return found


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(  # noqa: S603 - All words are ours.
        ["git", "-C", str(root), *words],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def main() -> int:
    """Tell all that does not fit, or write the notes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version")
    version = parser.parse_args().version.removeprefix("v")
    found = faults(ROOT, version) + faults_of_git(ROOT, version)
    for fault in found:
        print(f"release: {fault}", file=sys.stderr)
    if found:
        return 1
    notes = ROOT / "target" / "release-notes.md"
    notes.parent.mkdir(exist_ok=True)
    text = section((ROOT / "CHANGELOG.md").read_text(), version)
    notes.write_text(f"Fathom {version}\n\n{text}\n")
    print(f"release: {version} fits; notes in {notes.relative_to(ROOT)}")
    print("release: make dist dist-check dist-test, then tag it (docs/releasing.md)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
