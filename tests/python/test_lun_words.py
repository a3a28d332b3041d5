"""What is said of LUNs: the size of a device behind one, and what Ctrl-C leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import command
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


# The verb itself, once a LUN is asked for: Ctrl-C is pressed.
CTRL_C = """
import fathom.cli.commands.lun as it
class Provider:
    def steps(self, **_words):
        raise KeyboardInterrupt
    address = listed = steps
it.luns.provider_of = lambda *_words: Provider()
"""


def test_a_removal_that_was_interrupted_said_that_what_was_made_is_taken_away() -> None:
    words = ("--on", "tgt", "--path", "x", "--target", "iqn.2026-11.org.lab:disk1")
    for verb, told in (
        ("create", "error: interrupted; what was made is taken away again\n"),
        ("remove", "error: interrupted; some of it may be gone by now, and the same command"),
        ("list", "error: interrupted\n"),
    ):
        done = command("lun", verb, *words, before=CTRL_C)
        assert (done.returncode, done.stderr.startswith(told)) == (130, True), done.stderr
