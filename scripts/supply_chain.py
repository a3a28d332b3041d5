"""Look at what is built in and installed: sources, pins, licences, and the list of it all.

    scripts/supply_chain.py [--write]

Works without a network. Everything comes from its lock file and its registry, each licence is one
that goes with MIT or Apache-2.0, and ``docs/sbom.cdx.json`` (CycloneDX 1.6) names just what is
locked; ``--write`` renews it. Advisories are not looked up, since their databases need a network:
``make audit`` does that where there is one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from lab_requirements import blocks
from license_expression import ExpressionError, get_spdx_licensing
from packageurl import PackageURL
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
SBOM = ROOT / "docs" / "sbom.cdx.json"
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"

# Licences under which something may be part of a program that is MIT or Apache-2.0; those with
# conditions of their own for changed files (MPL, LGPL) only where Python loads them as they are.
FREE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "MIT",
    "MIT-0",
    "LicenseRef-scancode-public-domain", "MIT-CMU", "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib",
}  # fmt: skip
LOADED = FREE | {"LGPL-3.0-only", "MPL-2.0"}

# What packages say that is no SPDX expression.
WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    # Docutils, whose COPYING names the exceptions; the one under the GPL is in no wheel.
    "Public Domain": "LicenseRef-scancode-public-domain AND BSD-2-Clause AND BSD-3-Clause",
}


# Packages whose metadata do not name the licence that they come with.
UNTOLD = {"atheris": "Apache-2.0", "axe-playwright-python": "MIT AND MPL-2.0"}


@dataclass(frozen=True, order=True)
class Package:
    """Something that is built in or installed."""

    kind: str
    name: str
    version: str
    licence: str


def crates(faults: list[str]) -> list[Package]:
    """Return the crates of the lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)  # noqa: S603
    found = []
    for crate in json.loads(told.stdout)["packages"]:
        if crate["source"] is None:
            continue
        if crate["source"] != REGISTRY:
            faults.append(f"crate {crate['name']} comes from {crate['source']}")
        licence = (crate["license"] or "").replace("/", " OR ")
        found.append(Package("cargo", crate["name"], crate["version"], licence))
    return found


def wheels(faults: list[str]) -> list[Package]:
    """Return the Python packages that are pinned, and see that the installed ones are those."""
    found = []
    pinned = blocks((ROOT / "requirements-dev.txt").read_text())
    for text in pinned.values():
        line = text.split("--hash")[0].rstrip(" \\\n")
        asked = Requirement(line)
        if "--hash=sha256:" not in text:
            faults.append(f"{line} has no hash: run scripts/lock.py")
        name, version = asked.name, str(asked.specifier).removeprefix("==")
        if asked.marker is not None and not asked.marker.evaluate():
            # It belongs to the list all the same, which is one for all machines.
            found.append(Package("pypi", name, version, UNTOLD.get(name, "")))
            continue
        try:
            installed = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            faults.append(f"{line} is pinned but not installed: run `make build`")
            continue
        if installed["Version"] != version:
            faults.append(f"{line} is pinned, but {installed['Version']} is installed")
        found.append(Package("pypi", name, version, licence_of(installed) or UNTOLD.get(name, "")))
    return found


def licence_of(package: metadata.PackageMetadata) -> str:
    """Return what a package says of its licence: its expression, its one line, its classifier."""
    named = [package[field] for field in ("License-Expression", "License") if field in package]
    told = next(iter(named), "")
    if not told or "\n" in told or told.startswith("Copyright"):
        classifiers = package.get_all("Classifier") or []
        told = next((one for one in classifiers if one.startswith("License ::")), "")
    told = told.rsplit(" :: ", 1)[-1]
    return WORDS.get(told, told)


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Tell whether an SPDX expression can be met with these licences.

    Raises
    ------
    ExpressionError
        If it is none.

    """
    licensing = get_spdx_licensing()
    if licensing.parse(expression, validate=True) is None:
        raise ExpressionError("no licence is named")
    # An exception only adds permissions.
    parsed = licensing.parse(re.sub(r" WITH [\w.-]+", "", expression))
    alternatives = licensing.dnf(parsed)
    ways = alternatives.args if isinstance(alternatives, licensing.OR) else [alternatives]
    return any({symbol.key for symbol in way.symbols} <= allowed for way in ways)


def check_licences(packages: list[Package], faults: list[str]) -> None:
    """Add what may not be built in, or does not say whether it may."""
    for package in packages:
        allowed = FREE if package.kind == "cargo" else LOADED
        try:
            fine = is_allowed(package.licence, allowed)
        except ExpressionError as error:
            faults.append(f"{package.name}: licence '{package.licence}' is not understood: {error}")
            continue
        if not fine:
            faults.append(f"{package.name}: licence {package.licence} is not on the list")


def sbom(packages: list[Package]) -> str:
    """Return the list, the same for the same packages."""
    bom = Bom()
    for package in sorted(packages):
        purl = PackageURL(package.kind, name=package.name, version=package.version)
        bom.components.add(
            Component(
                type=ComponentType.LIBRARY,
                name=package.name,
                version=package.version,
                purl=purl,
                bom_ref=str(purl),
                licenses=[LicenseExpression(package.licence)],
            )
        )
    told = json.loads(JsonV1Dot6(bom).output_as_string())
    for changing in ("serialNumber", "metadata"):
        told.pop(changing, None)
    return json.dumps(told, indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Check, and write the list if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"renew {SBOM.relative_to(ROOT)}")
    asked = parser.parse_args()
    faults: list[str] = []
    packages = crates(faults) + wheels(faults)
    check_licences(packages, faults)
    told = sbom(packages) if not faults else ""
    if asked.write and told:
        SBOM.write_text(told)
    elif told and (not SBOM.exists() or SBOM.read_text() != told):
        faults.append(f"{SBOM.relative_to(ROOT)} is out of date: run `make sbom`")
    for fault in faults:
        print(f"supply chain: {fault}", file=sys.stderr)
    if not faults:
        print(f"supply chain: {len(packages)} packages, all locked and licensed as allowed;")
        print("  advisories are not looked up here: their databases need a network")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
