"""The bill of materials of one artefact (CycloneDX 1.6), beside it."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from crates import Crate

__all__ = ["Carried", "write_bill"]

_SPACE = uuid.UUID("6f3a1f1e-8a4e-5c0b-9a57-0d5f4a54484d")


@dataclass(frozen=True)
class Carried:
    """Something within an artefact that is no crate."""

    kind: str
    name: str
    version: str
    licence: str


def write_bill(
    artefact: Path, version: str, epoch: int, crates: list[Crate], carried: list[Carried]
) -> Path:
    """Write what an artefact holds; the same artefact has the same bill and serial number."""
    digest = hashlib.sha256(artefact.read_bytes()).hexdigest()
    root = {
        "type": "application",
        "name": artefact.name,
        "version": version,
        "bom-ref": f"pkg:generic/fathom-storage@{version}#{artefact.name}",
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }
    parts = [Carried("cargo", one.name, one.version, one.licence) for one in crates] + carried
    components = [_component(one) for one in sorted(parts, key=lambda one: (one.kind, one.name))]
    told = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat(),
            "component": root,
        },
        "components": components,
        "dependencies": [
            {"ref": root["bom-ref"], "dependsOn": [one["bom-ref"] for one in components]}
        ],
    }
    place = artefact.with_name(f"{artefact.name}.cdx.json")
    place.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
    return place


def _component(one: Carried) -> dict[str, object]:
    reference = f"pkg:{one.kind}/{one.name}@{one.version}"
    return {
        "type": "library",
        "name": one.name,
        "version": one.version,
        "purl": reference,
        "bom-ref": reference,
        "licenses": [{"expression": one.licence}],
    }
