"""How long runs take that end once their mean is known, before and while they are made."""

from __future__ import annotations

__all__ = ["LEAST_RUN_S", "START_S", "TYPICAL_RUN_S", "expected_run_s"]

LEAST_RUN_S = 2.0
"""The stop rule asks for so much measured time (``measure/stationarity/awaited.rs``)."""

TYPICAL_RUN_S = 2.8
"""What calm storage takes on the average: some runs are looked at a second or third time."""

START_S = 0.05
"""Opening the target and starting the threads."""

# What is known beforehand counts as much as so many runs.
_KNOWN_RUNS = 3


def expected_run_s(typical_s: float, elapsed_s: float, runs: int) -> float:
    """Return how long a further run takes, given the time of those so far."""
    return (_KNOWN_RUNS * typical_s + elapsed_s) / (_KNOWN_RUNS + runs)
