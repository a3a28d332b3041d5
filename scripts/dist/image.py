"""A container image from scratch: one layer with the static binary, as an OCI layout in a tar.

``podman load``, ``docker load`` and ``skopeo copy oci-archive:...`` take it. No daemon is needed to
make it (https://github.com/opencontainers/image-spec/blob/main/image-layout.md).
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from archive import gzipped, tar

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["write_image"]

_MEDIA = "application/vnd.oci.image"
# What the registries of images call our architectures.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_image(
    files: dict[str, tuple[bytes, int]], arch: str, version: str, epoch: int, place: Path
) -> Path:
    """Write an image of these files, whose entry point is ``/diskspd``."""
    layer = tar(files, epoch)
    packed = gzipped(layer)
    told = {
        "architecture": ARCHITECTURES[arch],
        "os": "linux",
        "created": datetime.fromtimestamp(epoch, UTC).isoformat(),
        "config": {
            "Entrypoint": ["/diskspd"],
            "WorkingDir": "/data",
            "Labels": {
                "org.opencontainers.image.title": "diskspd",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
    }
    config = _json(told)
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor(config, "config.v1+json"),
            "layers": [_descriptor(packed, "layer.v1.tar+gzip")],
        }
    )
    entry = {
        **_descriptor(manifest, "manifest.v1+json"),
        "annotations": {"org.opencontainers.image.ref.name": f"fathom-storage/diskspd:{version}"},
    }
    index = {"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": [entry]}
    members = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index)}
    for blob in (config, manifest, packed):
        members[f"blobs/{_digest(blob).replace(':', '/')}"] = blob
    place.write_bytes(tar({name: (blob, 0o644) for name, blob in members.items()}, epoch))
    return place


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _descriptor(blob: bytes, kind: str) -> dict[str, object]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": _digest(blob), "size": len(blob)}
