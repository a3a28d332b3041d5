"""Who answered, by the counters of the layers beneath a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricated import fabricated
from fathom.findings import find
from test_findings_causes import with_beneath

if TYPE_CHECKING:
    from fathom.findings import Finding


def test_btrfs_itself_answers_where_no_read_reaches_the_first_layer() -> None:
    """A remedy for the loop device did nothing: no read had come as far as it."""
    told = ("not_the_device", "Of 250,644 reads (979.1 MiB), 0 (0 bytes) reached vda.")
    none = dict.fromkeys(("read_ios", "read_bytes", "write_ios", "write_bytes"), 0)
    asked = none | {"read_ios": 250_644, "read_bytes": 1_026_637_824}

    def one(system: str, reached: dict[str, int]) -> Finding:
        layers = [
            {"name": system, "kind": "file_system", "about": "", "seen": None, "below": [1]},
            {"name": "loop22", "kind": "loop", "about": "", "seen": reached, "below": [2]},
            {"name": "vda", "kind": "disk", "about": "", "seen": none, "below": []},
        ]
        target = {"target": 0, "asked": asked, "layers": [0, 1, 2]}
        target |= {"answered_by": "above_device", "sentence": told[1]}
        run = with_beneath(fabricated(warnings=[told]), layers=layers, targets=[target])
        (finding,) = [one for one in find([run]) if one.rule == "not-the-device"]
        return finding

    assert "0 (0 bytes) reached even loop22" in one("btrfs", none).evidence
    assert "btrfs itself answered" in one("btrfs", none).evidence
    assert "compress" in one("btrfs", none).remedy
    assert "ext4 itself answered" in one("ext4", none).evidence
    # What the loop device saw, a layer beneath it answered: that the engine tells.
    assert one("btrfs", asked).evidence == told[1]
    assert one("btrfs", asked).remedy == "Mend it."
