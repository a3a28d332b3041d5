"""The permission to write, held in Python while another program writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fathom
import pytest
from support import loop_device

SESSION = "import os, sys; os.pwrite(os.open(sys.argv[1], os.O_WRONLY), b'theirs', 4096)"
DEVICE = Path("/dev/loop11")


def write_in_a_session(target: Path) -> int:
    """Write as another program with a session of its own; return that."""
    other = subprocess.Popen([sys.executable, "-c", SESSION, str(target)], start_new_session=True)
    assert other.wait() == 0
    return other.pid


def test_a_grant_makes_the_file_and_tells_the_targets_without_a_load(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    with fathom.WriteGrant(f"-c2M -w100 -d600 -W5 {target}") as grant:
        assert target.stat().st_size == 2 << 20
        span = grant.result.raw["time_spans"][0]
        assert (span["outcome"], span["measured_ns"], span["threads"]) == ("complete", 0, [])
        assert span["targets"][0]["path"] == str(target)
        # What is requested stands in the result as it was requested.
        assert grant.result.raw["request"]["profile"]["time_spans"][0]["duration_s"] == 600


def test_a_grant_refuses_what_a_run_refuses_and_touches_nothing(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    target.write_text("somebody's words\n" * 1000)
    before = target.read_bytes()
    for args in ("-w100 -b4K", "-c1M -b4K"):
        with pytest.raises(fathom.RefusedError) as refused:
            fathom.WriteGrant(f"{args} {target}")
        with pytest.raises(fathom.RefusedError) as also:
            fathom.run(f"{args} -d1 -W0 {target}")
        assert str(refused.value) == str(also.value)
    assert target.read_bytes() == before
    with fathom.WriteGrant(f"-w100 -b4K {target}", overwrite=True):
        pass
    with (
        pytest.raises(fathom.RefusedError),
        fathom.WriteGrant(f"-w100 -b4K {target}", protect=[target]),
    ):
        pass


def test_a_target_that_cannot_be_opened_fails_as_a_run_does(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    fathom.run(f"-c1M -w100 -d30 -W0 --stop-ios=1 {target}")
    with pytest.raises(fathom.RunFailedError, match="does not exist"):
        fathom.WriteGrant(f"-w100 {tmp_path / 'none.dat'}")
    with pytest.raises(fathom.InvalidRequestError):
        fathom.WriteGrant("-b0 x")


def test_what_the_session_wrote_is_ours_and_what_others_wrote_is_not(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    load = f"-c2M -w100 {target}"
    with fathom.WriteGrant(load) as grant:
        grant.written_by(write_in_a_session(target))
    if os.geteuid() != 0:
        # The kernel tells root alone who wrote: this file has to prove itself.
        with pytest.raises(fathom.RefusedError):
            fathom.WriteGrant(load)
        return
    # The writer was the program that it was lent to.
    with fathom.WriteGrant(load) as grant:
        write_in_a_session(target)
        grant.close()
    with pytest.raises(fathom.RefusedError):
        fathom.WriteGrant(load)


def test_while_a_grant_is_held_nobody_else_claims_the_device(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    with loop_device(DEVICE, image):
        with pytest.raises(fathom.RefusedError, match="allow-write"):
            fathom.WriteGrant(f"-w100 {DEVICE}")
        with fathom.WriteGrant(f"-w100 {DEVICE}", allow_write=[f"{DEVICE}:1048576"]):
            with pytest.raises(OSError, match="busy"):
                os.open(DEVICE, os.O_RDONLY | os.O_EXCL)
            # Who only writes is not kept off.
            os.close(os.open(DEVICE, os.O_WRONLY))
        os.close(os.open(DEVICE, os.O_RDONLY | os.O_EXCL))
