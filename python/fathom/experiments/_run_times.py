"""How long runs take that end once their mean is known, before and while they are made."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fathom.engine import load_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "LEAST_RUN_S",
    "START_S",
    "TYPICAL_RUN_S",
    "asked_run_s",
    "ends_by_amount",
    "expected_run_s",
    "further_run_s",
]

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


def further_run_s(
    typical_s: float, durations_s: Sequence[float], *, is_limit: bool = False
) -> float:
    """Return how long a further run takes, given how long each took so far.

    The first one may have made its file, which no other does. Where ``typical_s`` is a limit alone
    (``ends_by_amount``), the runs that were made tell it, and nothing else.
    """
    first, *others = durations_s
    if is_limit:
        return sum(others) / len(others) if others else min(first, typical_s)
    usual_s = max(typical_s, *others) if others else typical_s
    return expected_run_s(typical_s, min(first, usual_s) + sum(others), len(durations_s))


def ends_by_amount(arguments: Sequence[str]) -> bool:
    """Whether runs end after so many I/Os or bytes, so that their time depends on the target."""
    return _ends_by_amount(tuple(arguments))


@lru_cache(maxsize=256)
def _ends_by_amount(arguments: tuple[str, ...]) -> bool:
    stops = [span.stop for span in load_of(arguments).profile.time_spans]
    return any(one.ios is not None or one.bytes is not None or one.pass_ for one in stops)


def asked_run_s(arguments: Sequence[str], runner: str = "fathom") -> float:
    """Return how long a run with these arguments takes by experience, before any has been made."""
    return _asked_run_s(tuple(arguments), runner)


@lru_cache(maxsize=256)
def _asked_run_s(arguments: tuple[str, ...], runner: str) -> float:
    """Return it; what an experiment has left is shown after each run, of the same arguments."""
    seconds = START_S
    for span in load_of(arguments).profile.time_spans:
        measured_s = float(span.duration_s)
        # Other tools have no rule that ends a run.
        if span.stop.confidence is not None and runner == "fathom":
            measured_s = min(TYPICAL_RUN_S, measured_s)
        seconds += measured_s + span.warm_up_s + span.cool_down_s
    return seconds
