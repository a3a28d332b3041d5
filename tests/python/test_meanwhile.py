"""What another program writes to a file while a tool writes to it for us stays that program's.

Runs of ``diskspd`` itself are in ``tests/kernel/meanwhile.rs``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import fathom
import pytest
from fathom.tools.choose import foreign_runner
from fio_traces import needs_fio
from support import diskspd

# Random data of fio prove nothing; the second half of the file is left to others.
LOAD = ["-b4K", "-f1M", "-w100", "-Zr", "-o2", "-g500i", "-d1", "-W0"]
AT = (1 << 20) + 777
OTHER = "import os, sys; os.pwrite(os.open(sys.argv[1], os.O_WRONLY), b'theirs', int(sys.argv[2]))"
NAMES = [pytest.param("fio", marks=needs_fio), "diskspd"]


def measure(name: str, target: Path) -> None:
    runner = foreign_runner(str(diskspd()) if name == "diskspd" else name, None)
    assert runner is not None
    assert runner.measure([*LOAD, str(target)]).failure is None


def is_open_elsewhere(target: Path) -> bool:
    """Return whether a process other than this one has the file open."""
    for links in Path("/proc").glob("[0-9]*/fd"):
        if links.parent.name == str(os.getpid()):
            continue
        try:
            if any(link.readlink() == target for link in links.iterdir()):
                return True
        except OSError:
            continue
    return False


def write_once_open(target: Path) -> None:
    """Write to the file as another program, once the tool has it open."""
    while not is_open_elsewhere(target):
        time.sleep(0.01)
    time.sleep(0.3)
    subprocess.run([sys.executable, "-c", OTHER, str(target), str(AT)], check=True)


@pytest.mark.parametrize("name", NAMES)
def test_what_others_wrote_while_another_tool_wrote_was_taken_for_ours(
    name: str, tmp_path: Path
) -> None:
    target = tmp_path / "f.dat"
    fathom.run(["-c2M", "-d1", "-W0", "--stop-ios=1", str(target)])
    measure(name, target)
    # Nobody else has written to it: random data of fio are ours as well.
    measure(name, target)
    other = threading.Thread(target=write_once_open, args=[target], daemon=True)
    other.start()
    measure(name, target)
    other.join()
    before = target.read_bytes()
    assert before[AT : AT + 6] == b"theirs"
    with pytest.raises(fathom.RefusedError):
        measure(name, target)
    assert target.read_bytes() == before
