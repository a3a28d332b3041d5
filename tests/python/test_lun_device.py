"""A block device behind a LUN: what is wanted of it, and what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.errors import InvalidRequestError
from fathom.luns import request_from
from fathom.luns.backing import backing_step


def test_a_device_was_said_to_have_the_size_that_was_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device := tmp_path / "device").write_bytes(bytes(1 << 20))
    # Its size is found in the same way, and a device needs root.
    monkeypatch.setattr(Path, "is_block_device", lambda _path: True)
    monkeypatch.setattr(Path, "is_file", lambda _path: False)
    given = {"on": "tgt", "path": str(device), "target": "iqn.2026-11.org.lab:disk1"}
    step = backing_step(request_from({**given, "size": "10G"}), lambda: True)
    with pytest.raises(InvalidRequestError, match=r"1,048,576 bytes, .* name another device"):
        step.is_there()
    assert backing_step(request_from({**given, "size": "1M"}), lambda: True).is_there()
