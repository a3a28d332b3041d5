"""Whose figures a result holds: a device's, or those of something above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "FirstLayer",
    "Origin",
    "Reached",
    "caches_in_pages",
    "first_fetches",
    "first_shares",
]

_DEVICE = ("device", "not_counted")

_WITH_PAGE_CACHE = frozenset(
    (
        *("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "gfs2", "hfsplus", "jfs"),
        *("msdos", "nilfs2", "ntfs3", "ocfs2", "udf", "vfat", "xfs"),
    )
)
"""File systems of this host's kernel whose files are cached in pages; ZFS and FUSE have others."""


@dataclass(frozen=True)
class Origin:
    """What answered the I/Os of one target, by the counters of the layers beneath it.

    ``answered_by`` is ``device``, ``partly_device``, ``above_device``, ``memory``, ``nothing``,
    ``unseen`` or ``not_counted``; ``sentence`` says the same with its numbers.
    """

    target: str
    answered_by: str
    sentence: str

    @property
    def is_device(self) -> bool:
        """Whether the figures may be taken for a device's, as far as anybody can tell."""
        return self.answered_by in _DEVICE

    @property
    def headline(self) -> str:
        """What a reader must know before any figure of the target; empty if it is a device's."""
        if self.is_device:
            return ""
        return f"Not a device's figures: {self.target}: {self.sentence}."

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> tuple[Self, ...]:
        """Read the origins of a time span of the JSON form; older versions told none."""
        beneath = data.get("beneath") or {}
        return tuple(
            cls(
                target=data["targets"][one["target"]]["path"],
                answered_by=one["answered_by"],
                sentence=one["sentence"][:1].upper() + one["sentence"][1:],
            )
            for one in beneath.get("targets", ())
            if any(one["asked"].get(f"{kind}_ios") for kind in ("read", "write", "trim"))
        )


@dataclass(frozen=True)
class Reached:
    """What was asked of a target in reads or writes, and what of it a layer saw."""

    kind: str
    asked_ios: int
    asked_bytes: int
    ios: int
    bytes: int


@dataclass(frozen=True)
class FirstLayer:
    """The first layer beneath a file system whose I/Os the kernel counts.

    ``system`` is the type of the file system; ``is_last`` is whether nothing lies beneath it.
    """

    system: str
    name: str
    is_last: bool
    reached: tuple[Reached, ...]

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> tuple[Self, ...]:
        """Read those of a time span of the JSON form, of each target that lies on a file system."""
        beneath = data.get("beneath") or {}
        found = []
        for one in beneath.get("targets", ()):
            layers = [beneath["layers"][at] for at in one["layers"]]
            first = next((layer for layer in layers if layer["seen"] is not None), None)
            if first is None or layers[0]["kind"] != "file_system":
                continue
            asked, seen = one["asked"], first["seen"]
            reached = tuple(
                Reached(
                    kind,
                    asked[f"{kind}_ios"],
                    asked[f"{kind}_bytes"],
                    seen[f"{kind}_ios"],
                    seen[f"{kind}_bytes"],
                )
                for kind in ("read", "write")
            )
            found.append(cls(layers[0]["name"], first["name"], first is layers[-1], reached))
        return tuple(found)


def first_shares(data: Mapping[str, Any], kind: str) -> Iterator[float]:
    """Return the share of the bytes of ``read`` or ``write`` that the first layer saw.

    It is that of each target of a time span of the JSON form, of the first layer that counts.
    """
    for one, layers in _targets(data):
        seen = next((layer["seen"] for layer in layers if layer["seen"] is not None), None)
        asked = one["asked"][f"{kind}_bytes"]
        if seen is not None and asked:
            yield seen[f"{kind}_bytes"] / asked


def first_fetches(data: Mapping[str, Any]) -> Iterator[float]:
    """Return how many fetches the first layer that counts saw for each read of a target.

    It is that of each target of a time span of the JSON form; what the layer merged counts.
    """
    for one, layers in _targets(data):
        seen = next((layer["seen"] for layer in layers if layer["seen"] is not None), None)
        asked = one["asked"]["read_ios"]
        if seen is not None and asked:
            yield (seen["read_ios"] + seen.get("reads_merged", 0)) / asked


def caches_in_pages(data: Mapping[str, Any]) -> bool:
    """Whether each target is a device, or lies on a file system that caches in pages."""
    return all(_caches_in_pages(layers) for _, layers in _targets(data))


def _caches_in_pages(layers: Sequence[Mapping[str, Any]]) -> bool:
    # Memory that keeps its data (DAX) is read without any cache.
    if any(layer["name"].startswith(("pmem", "dax")) for layer in layers):
        return False
    first = layers[0]
    is_file_system = first["kind"] == "file_system"
    is_known = not is_file_system or first["name"] in _WITH_PAGE_CACHE
    return is_known and first["kind"] not in {"unseen", "memory", "nothing"}


def _targets(
    data: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Return each target of a time span with the layers beneath it, the nearest first."""
    beneath = data.get("beneath") or {}
    for one in beneath.get("targets", ()):
        if one["layers"]:
            yield one, [beneath["layers"][at] for at in one["layers"]]
