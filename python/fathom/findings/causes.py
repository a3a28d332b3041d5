"""What explains the figures of a run other than the storage: which runs a rule may look at.

The engine's warnings name the causes. A rule says of the storage only what runs without any of them
show, and a sentence compares two runs only if neither has one (``apart``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from fathom.result import Result

__all__ = [
    "AT_ITS_LIMIT",
    "BEFALLING_RULES",
    "CORE_AT_ITS_LIMIT",
    "DISTURBING",
    "EXPLAINED",
    "HOST_IN_THE_WAY",
    "NOTHING",
    "NOT_THE_DEVICE",
    "OF_EACH_HOST",
    "OTHERS_ANSWERED",
    "STALLED",
    "TITLES",
    "apart",
    "cause_words",
    "causes_of",
    "disturbance_of",
]

NOTHING: frozenset[str] = frozenset()

NOT_THE_DEVICE = frozenset({"not_the_device"})
"""The counters of the layers beneath say so."""

OTHERS_ANSWERED = NOT_THE_DEVICE | {
    "page_cache",
    "shared_sequential_blocks",
    "extents_changed",
}
"""Warnings by which the figures are not those of a device."""

HOST_IN_THE_WAY = frozenset(
    {
        "cpu_contended",
        "cpu_throttled",
        "cpu_stolen",
        "suspended",
        "affinity_changed",
        "cpu_offline",
    }
)
"""Warnings by which the host kept the load from running, so that the time is not the device's."""

CORE_AT_ITS_LIMIT = frozenset({"core_saturated"})
"""The load itself took all of a core: more than this, the host does not ask of a device."""

AT_ITS_LIMIT = frozenset({"io_limited", "server_window"})
"""Warnings by which a limit was measured that somebody set."""

STALLED = frozenset({"stalled", "stalled_at_end", "no_io_completed"})
"""A part of the measured time had no I/Os at all: its mean rate is in part that of no load."""

_FAILED = frozenset({"io_errors", "retransmits", "reconnected"})
_OWN_LOAD = frozenset({"idle_between_ios", "allocating_writes"})

EXPLAINED = (
    OTHERS_ANSWERED
    | HOST_IN_THE_WAY
    | CORE_AT_ITS_LIMIT
    | AT_ITS_LIMIT
    | STALLED
    | _FAILED
    | _OWN_LOAD
)
"""All of them: what a rule does not look at unless it says why it does."""

DISTURBING = HOST_IN_THE_WAY | STALLED | _FAILED | _OWN_LOAD
"""Causes that come and go from run to run, so that the greatest of several rates may be theirs."""

OF_EACH_HOST = OTHERS_ANSWERED | {"io_limited"}
"""Causes that a host has for itself: they tell nothing of what several hosts share."""

BEFALLING_RULES = frozenset(
    {
        "cpu-contended",
        "cpu-taken-away",
        "cpu-throttled",
        "extents-changed",
        "host-lost",
        "idle-between-ios",
        "io-errors",
        "network-loss",
        "no-room",
        "nothing-completed",
        "reconnected",
        "resized",
        "stalled",
        "suspended",
    }
)
"""The rules of what befalls a run, whatever it is for: nobody brings that about on purpose."""

TITLES = {
    "not_the_device": "something else than the device answered",
    "page_cache": "the page cache answered",
    "shared_sequential_blocks": "threads read the same blocks",
    "extents_changed": "the file lost blocks",
    "cpu_contended": "other processes took the CPUs",
    "cpu_throttled": "a CPU quota stopped the load",
    "cpu_stolen": "the hypervisor took CPU time",
    "suspended": "the measuring process was suspended",
    "affinity_changed": "threads were moved to other CPUs",
    "cpu_offline": "a CPU was offline",
    "core_saturated": "a core was at its limit",
    "io_limited": "a limit of I/O was reached",
    "server_window": "the server limited what is outstanding",
    "stalled": "the load stalled",
    "stalled_at_end": "the load stalled",
    "no_io_completed": "no I/O completed",
    "io_errors": "I/Os failed",
    "retransmits": "the network lost data",
    "reconnected": "a connection was lost",
    "idle_between_ios": "the load paused",
    "allocating_writes": "writes had to find blocks first",
}
"""Each cause in words that go on a sentence about a run."""


def causes_of(result: Result) -> frozenset[str]:
    """Return the kinds of the warnings that explain the figures of a result.

    These are of its first time span, so that what befell another one explains nothing of them.
    """
    kinds = (one.kind for one in result.warnings if not one.time_span)
    return frozenset(kinds) & EXPLAINED


def disturbance_of(result: Result) -> str | None:
    """Return what disturbed a run, in words; None if nothing did."""
    return cause_words(result, DISTURBING)


def cause_words(result: Result, kinds: Collection[str]) -> str | None:
    """Return the first of these causes that a run has, in words; None if it has none."""
    found = causes_of(result)
    return next((words for kind, words in TITLES.items() if kind in found and kind in kinds), None)


def apart(*results: Result | None, expected: Collection[str] = NOTHING) -> str | None:
    """Return why runs cannot be compared, in words; None if nothing speaks against it.

    Whoever answers all of them alike (memory) keeps nobody from comparing them, nor does a core
    that the load itself fills. ``expected`` are causes that make the difference one asks about.
    """
    found = [causes_of(one) - frozenset(expected) for one in results if one is not None]
    either = frozenset().union(*found)
    alike = frozenset.intersection(*found) if found else NOTHING
    disturbing = either - OTHERS_ANSWERED - CORE_AT_ITS_LIMIT
    disturbing |= (either & OTHERS_ANSWERED) - alike
    first = next((one for one in TITLES if one in disturbing), None)
    if first is None:
        return None
    count = sum(first in one for one in found)
    where = "in both runs" if count == len(found) else "in one of the runs"
    return f"{TITLES[first]} {where if count < len(found) or len(found) == 2 else 'in all runs'}"  # noqa: PLR2004 - A pair.
