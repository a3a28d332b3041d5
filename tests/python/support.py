"""What several test files need."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

# More reads than an interpreter makes by itself in a test.
READS_OF_A_RUN = 20_000
LOOKS = 6_000


def reads(pid: int) -> int:
    """Return how many read system calls all threads of a process have made."""
    counters = Path(f"/proc/{pid}/io").read_text()
    return int(counters.split("syscr:")[1].split()[0])


def interrupt_once_reading(pid: int) -> None:
    """Send SIGINT, as Ctrl-C does, once a run with synchronous I/O is under way."""
    before = reads(pid)
    for _ in range(LOOKS):
        if reads(pid) - before > READS_OF_A_RUN:
            break
        time.sleep(0.01)
    os.kill(pid, signal.SIGINT)
