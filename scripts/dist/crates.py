"""The crates that are built into a binary: names, versions, licences and their texts."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Crate", "built_in", "licence_texts"]

_TEXTS = ("LICENSE*", "LICENCE*", "COPYING*", "UNLICENSE*", "NOTICE*")


@dataclass(frozen=True, order=True)
class Crate:
    """A crate of the registry that is part of a binary."""

    name: str
    version: str
    licence: str
    folder: str


def built_in(source: Path, package: str, target: str) -> list[Crate]:
    """Return what a package is made of for a target, without what only tests and builds need."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    told = subprocess.run(  # noqa: S603 - All words are ours.
        [*command, "--filter-platform", target],
        check=True,
        capture_output=True,
        text=True,
        cwd=source,
    )
    metadata = json.loads(told.stdout)
    packages = {one["id"]: one for one in metadata["packages"]}
    nodes = {one["id"]: one for one in metadata["resolve"]["nodes"]}
    waiting = [key for key, one in packages.items() if one["name"] == package]
    found: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += [one["pkg"] for one in nodes[key]["deps"] if _is_linked(one)]
    used = (packages[key] for key in found)
    return sorted(_crate(one) for one in used if one["source"] is not None)


def _is_linked(dependency: dict[str, Any]) -> bool:
    return any(kind["kind"] is None for kind in dependency["dep_kinds"])


def _crate(told: dict[str, Any]) -> Crate:
    licence = (told["license"] or "").replace("/", " OR ")
    return Crate(told["name"], told["version"], licence, str(Path(told["manifest_path"]).parent))


def licence_texts(crates: list[Crate]) -> bytes:
    """Return the licences of all crates as one text; equal ones stand once."""
    by_text: dict[str, list[str]] = {}
    for crate in crates:
        name = f"{crate.name} {crate.version} ({crate.licence})"
        for text in _texts(Path(crate.folder)) or [f"{crate.licence}\n"]:
            by_text.setdefault(text, []).append(name)
    parts = ["\n".join(names) + f"\n\n{text.strip()}\n" for text, names in by_text.items()]
    return (
        "What is built into this program, with its licences.\n\n" + f"\n{'-' * 72}\n".join(parts)
    ).encode()


def _texts(folder: Path) -> list[str]:
    files = sorted({path for pattern in _TEXTS for path in folder.glob(pattern)})
    return [path.read_text(errors="replace") for path in files if path.is_file()]
