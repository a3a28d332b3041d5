"""What the engine warned of, as findings: it saw it, so that nothing is computed again."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fathom.findings._weights import weighed
from fathom.findings.causes import HOST_IN_THE_WAY, NOTHING, OTHERS_ANSWERED
from fathom.findings.finding import Rule
from fathom.findings.rules.ran_full import is_room_alone
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fathom.findings.finding import Confidence, Noticed
    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["NO_FINDING", "RULES"]


def _warned(confidence: Confidence, *kinds: str) -> Callable[[TargetEvidence], Iterable[Noticed]]:
    """Return a look for warnings of these kinds."""
    return lambda evidence: weighed(evidence, confidence, *kinds)


_WAITED = frozenset({"cpu_contended", "cpu_stolen"})
_OLDEST_S = re.compile(r"the oldest for ([\d.,]*\d) s\b")


def _stalled(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell stalls that no wait for a CPU explains: what is ready is not seen without one."""
    kinds = ("stalled", "stalled_at_end", "no_io_completed")
    for one in weighed(evidence, "certain", *kinds):
        (run,) = one.runs
        if run.warned & _WAITED and _stalled_s(run, one) <= _waited_s(run):
            continue
        yield one


def _waited_s(run: Observed) -> float:
    """Return how long all threads of a run waited for a CPU; endless if nobody counted it."""
    cpus = [(span.get("beneath") or {}).get("cpu") for span in run.result.raw["time_spans"]]
    known = [one for one in cpus if one and one.get("waited_ns") is not None]
    waited_ns = sum(int(one["waited_ns"]) + int(one["stolen_ns"]) for one in known)
    return float(waited_ns / NS_PER_S) if known else inf


def _stalled_s(run: Observed, noticed: Noticed) -> float:
    """Return how long the stall was that a warning is about."""
    oldest = _OLDEST_S.search(noticed.evidence)
    if oldest is not None:
        return float(oldest[1].replace(",", ""))
    spans = run.result.raw["time_spans"]
    lengths = [
        stall["length_ns"]
        for span in spans
        for stall in (span.get("beneath") or {}).get("stalls", ())
    ]
    whole_ns = sum(span["measured_ns"] for span in spans)
    return float(max(lengths, default=whole_ns) / NS_PER_S)


# What the engine says where the rate was only near a limit (its warning `io_limited`).
_NEAR = "the limit may have been measured"


def _limited(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell of limits that were reached; one that is only near may be a chance."""
    for one in weighed(evidence, "certain", "io_limited"):
        yield replace(one, confidence="likely") if _NEAR in one.evidence else one


def _failed(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell of I/Os that failed for another reason than that there was no room."""
    for one in weighed(evidence, "certain", "io_errors"):
        (run,) = one.runs
        if not is_room_alone(run):
            yield one


RULES = (
    # No block device lies beneath the target.
    Rule(
        "no-device-seen",
        "No device can be seen beneath the target",
        "fuse(4), mount(8); the engine's warning device_unseen",
        _warned("certain", "device_unseen"),
        explained_by=NOTHING,
        fires_when=(
            "The target lies on FUSE, a file system of the virtual machine's host or an overlay of "
            "another namespace."
        ),
        place=20,
    ),
    # The target is an address, or a mount of a file system of the network.
    Rule(
        "server-answered",
        "A server answered, with its cache",
        "mount(8); the engine's warning server_answered",
        _warned("certain", "server_answered"),
        explained_by=NOTHING,
        fires_when="The target is an address on the network, or lies on a network file system.",
        place=21,
    ),
    # The kernel counts what the group did.
    Rule(
        "io-limited",
        "A limit of I/O was measured",
        "Linux kernel documentation, Control Group v2, io.max; the engine's warning io_limited",
        _limited,
        explained_by=NOTHING,
        fires_when=(
            "The rate of the control group was at least 97 % of its limit, or nine tenths where "
            "the load did not pause by itself. *Likely* below 97 %, and where it paused; else "
            "*certain*."
        ),
        place=30,
    ),
    # The kernel counts the periods.
    Rule(
        "cpu-throttled",
        "A CPU quota was measured",
        "Linux kernel documentation, CFS bandwidth control; the engine's warning cpu_throttled",
        _warned("certain", "cpu_throttled"),
        explained_by=NOTHING,
        fires_when="A quota stopped the process in at least 5 % of its periods.",
        place=60,
    ),
    # The kernel counts how long threads waited.
    Rule(
        "cpu-contended",
        "Other processes took the CPUs",
        "Linux kernel documentation, scheduler statistics; the engine's warning cpu_contended",
        _warned("certain", "cpu_contended"),
        explained_by=NOTHING,
        fires_when=(
            "Threads of load waited for a CPU for a tenth of their time, while others used at "
            "least 0.2 CPUs."
        ),
        place=70,
    ),
    # The engine follows what comes back, and looks at what is in flight at the end.
    Rule(
        "stalled",
        "The target stalled",
        "B. Gregg, Systems Performance (2020): latency outliers; the engine's warnings "
        "stalled, stalled_at_end and no_io_completed",
        _stalled,
        # Of a busy CPU the look knows how much it explains; of the rest of the host, all.
        explained_by=HOST_IN_THE_WAY - _WAITED,
        fires_when=(
            "A thread waited for a target for half a second or longer, or for a tenth of a shorter "
            "measured time (0.2 s at least), and more than 20 times as long as for an I/O on "
            "average; or the measured time ended in a stall (docs/faults.md), or had no I/O at "
            "all; where threads waited for a CPU, only what is longer than all of them waited "
            "together."
        ),
        place=80,
    ),
    # The file system tells its blocks.
    Rule(
        "extents-changed",
        "The file lost blocks while it was measured",
        "fallocate(2), FALLOC_FL_PUNCH_HOLE; the engine's warning extents_changed",
        _warned("certain", "extents_changed"),
        explained_by=NOTHING,
        fires_when="A file that was only read held fewer blocks after the run.",
        place=90,
    ),
    # The engine looked before it read.
    Rule(
        "constant-data",
        "The data repeat one pattern",
        "DiskSpd, -Z: the pattern that it writes by itself; the engine's warning constant_data",
        _warned("possible", "constant_data"),
        explained_by=NOTHING,
        fires_when=(
            "At least one of 20 places that were looked at repeats a pattern of at most 256 bytes, "
            "or holds the same as another of them."
        ),
        place=120,
    ),
    # It compressed a part of what it read.
    Rule(
        "compressible-data",
        "The data compress",
        "SNIA SSS PTS 2.0.2: data pattern; the engine's warning compressible_data",
        _warned("possible", "compressible_data"),
        explained_by=NOTHING,
        fires_when=(
            "LZ4 makes the data of the places that were looked at at least 1.5 times shorter, and "
            "they do not repeat."
        ),
        place=125,
    ),
    # It asked the file system for its map of the file.
    Rule(
        "allocating-writes",
        "Writes have to find blocks first",
        "SNIA SSS PTS 2.0.2: purge and preconditioning; the engine's warning allocating_writes",
        _warned("likely", "allocating_writes"),
        explained_by=NOTHING,
        fires_when=(
            "At least 5 % of what is written lie in holes, in blocks that were reserved and never "
            "written, or in blocks that other files share, on a file system that writes in place."
        ),
        place=127,
    ),
    # It knows what it read.
    Rule(
        "cached-by-device",
        "A cache of the device may hold all of it",
        "SNIA SSS PTS 2.0.2: ActiveRange; the engine's warning small_working_set",
        _warned("possible", "small_working_set"),
        explained_by=OTHERS_ANSWERED,
        fires_when="At most 64 MiB were read at least 16 times over: all that the load can touch, "
        "or where at least half of its reads go.",
        place=130,
    ),
    # Each thing that it saw once, whatever the number of runs.
    Rule(
        "cpu-taken-away",
        "CPUs were taken away during the run",
        "Linux kernel documentation, CPU hotplug: tasks move to other CPUs; the engine's warnings",
        _warned("certain", "affinity_changed", "cpu_offline"),
        explained_by=NOTHING,
        fires_when=(
            "The engine saw a pinned thread that could run elsewhere at its end, or a CPU "
            "that was offline."
        ),
        place=160,
    ),
    # Each time that it saw.
    Rule(
        "suspended",
        "The measuring process was suspended for a time",
        "signal(7), SIGSTOP and SIGCONT; the engine's warnings",
        _warned("certain", "suspended"),
        explained_by=NOTHING,
        fires_when=(
            "The engine saw that nothing of it ran for half a second or longer, or for a tenth of "
            "a shorter measured time (0.2 s at least)."
        ),
        place=170,
    ),
    # It looked while it measured.
    Rule(
        "rate-not-reached",
        "The requested rate was not reached",
        "DiskSpd, -g; the engine's warning rate_not_reached",
        _warned("certain", "rate_not_reached"),
        explained_by=NOTHING,
        fires_when="The engine delivered less than `-g` requested.",
        place=190,
    ),
    # It counts what fails.
    Rule(
        "io-errors",
        "I/Os failed",
        "read(2), write(2): errors; the engine's warning io_errors",
        _failed,
        explained_by=NOTHING,
        fires_when=(
            "At least one I/O of the measured time failed, unless all that failed found no room."
        ),
        place=65,
    ),
    # It adds up the time without I/Os.
    Rule(
        "idle-between-ios",
        "The load paused between its I/Os",
        "Little's law: what is outstanding; the engine's warning idle_between_ios",
        _warned("certain", "idle_between_ios"),
        explained_by=NOTHING,
        fires_when="Fewer I/Os were in flight than were requested, and no rate or burst says so.",
        place=75,
    ),
    # It knows which thread reads where.
    Rule(
        "shared-blocks",
        "Threads read the same blocks",
        "DiskSpd, -T and -si; the engine's warning shared_sequential_blocks",
        _warned("likely", "shared_sequential_blocks"),
        explained_by=NOTHING,
        fires_when="Several threads read the same sequential blocks, so that a cache answers.",
        place=105,
    ),
)

NO_FINDING = {
    "backend_fallback": "It is the machine's and the same of all runs; the run shows it.",
    "events_not_counted": "It lacks counters of the kernel, and no figure of the load.",
    "interrupted": "A run that was interrupted is not complete, and experiments leave it out.",
    "mixed_cores": "It is the machine's and the same of all runs; the run shows it.",
    "no_effect": "The figures are those of the load that was measured; the run shows it.",
    "range_beyond_target": "The figures are those of the load that was measured; the run shows it.",
    "response_behind_schedule": "Latencies are right all the same; the run shows response times.",
    "short_io": "Throughput counts the bytes that were transferred; the run shows it.",
    "stop_rule_not_met": "The interval beside the figure is as wide as it is.",
    "target_replaced": "The load went on with the target that it had opened.",
    "users_unseen": "It is about the safety of the data, and not about figures.",
}
"""Kinds of the engine's warnings that are no finding, each with the reason why not."""
