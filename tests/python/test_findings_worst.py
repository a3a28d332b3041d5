"""*The worst is shown*: the evidence is that of the worst run, and else nobody says so."""

from __future__ import annotations

import pytest
from fabricated import fabricated
from fathom.findings import Finding, find
from fathom.findings._weights import UNKNOWN, weight_of

STALL = "Thread 0 waited {} s for its I/Os, from {} s on, and none came back."
AT_END = (
    "The measured time ended in a stall: 1 I/O was in flight at its end, the oldest for {} s, "
    "while those that completed took 3.135 ms on average."
)
NO_IO = "No I/O completed in the {} s of the measured time; 32 I/Os were in flight."
SUSPENDED = (
    "This process did not run for {} of the {} s that were measured, for 0.6 s at a stretch; I/Os "
    "in flight seem to take as long."
)
FAILED = "{} of 100,000 reads and 0 of 0 writes failed; rates and latencies are of the others only."
RATE = "1,000 I/Os per second were requested and {} delivered, which is {} %."
HELD = (
    "9 reads went through the page cache, which held {} % of the 4 GiB that were read from; the "
    "host has 16 GiB of memory."
)
NETWORK = "Of 310 µs, about {} µs are the network's: so long took a NOP-Out before the load."
LOST = "{} segments to a:1 were sent again, as they seemed lost, which adds to latency."
NO_BLOCKS = "{} % of the 1 GiB that are written have no blocks of their own yet (1 GiB in holes)."
SHORTER = "LZ4 makes the data of 64 places that were looked at {} times shorter."
CONTENDED = "Other processes used 1.90 of 2 CPUs (process 7 (99 %x) 1.90), and the threads of load "
CONTENDED += "waited {} % of their time for a CPU."
WINDOW = "{} I/Os per connection are to be outstanding, but the server takes {} at once."
# The rule, the kind of the warning, the words of a mild run and those of a bad one.
WORSE = [
    ("io-errors", "io_errors", FAILED.format("1"), FAILED.format("90,000")),
    ("network-share", "network_share", NETWORK.format(70), NETWORK.format(300)),
    ("rate-not-reached", "rate_not_reached", RATE.format(980, 98.0), RATE.format(10, 1.0)),
    ("page-cache", "page_cache", HELD.format(1.2), HELD.format(49.9)),
    ("network-loss", "retransmits", LOST.format("9"), LOST.format("1,200")),
    ("allocating-writes", "allocating_writes", NO_BLOCKS.format(5.1), NO_BLOCKS.format(99.9)),
    ("compressible-data", "compressible_data", SHORTER.format(1.6), SHORTER.format(12.0)),
    ("stalled", "stalled", STALL.format("0.60", "55.20"), STALL.format("9.00", "1.00")),
    ("suspended", "suspended", SUSPENDED.format(0.6, "60.0"), SUSPENDED.format("9.0", "10.0")),
    ("cpu-contended", "cpu_contended", CONTENDED.format("12.5"), CONTENDED.format("61.0")),
    ("server-window", "server_window", WINDOW.format(64, 32), WINDOW.format(64, 2)),
]


def told(rule: str, *warnings: tuple[str, str]) -> Finding:
    """Return what a rule finds in runs of which each has one of these warnings."""
    runs = [fabricated(caching="cached", warnings=[one]) for one in warnings]
    (found,) = [one for one in find(runs, [1, 2, 3]) if one.rule == rule]
    return found


@pytest.mark.parametrize(("rule", "kind", "mild", "bad"), WORSE)
def test_the_worst_run_is_shown_and_not_the_first(
    rule: str, kind: str, mild: str, bad: str
) -> None:
    """*1 of 100,000 reads failed; the worst is shown*, of 90,000 that failed in another run."""
    for order in ((mild, bad), (bad, mild)):
        found = told(rule, *((kind, words) for words in order))
        assert found.evidence == bad
        assert found.where == "In 2 of 2 runs (runs 1 and 2); the worst is shown."


def test_stalls_of_all_kinds_are_compared_by_their_length() -> None:
    mild, bad = STALL.format("0.60", "55.20"), AT_END.format("2.500")
    assert told("stalled", ("stalled", mild), ("stalled_at_end", bad)).evidence == bad
    none = ("no_io_completed", NO_IO.format("5.00"))
    assert told("stalled", none, ("stalled_at_end", bad)).evidence == NO_IO.format("5.00")


def test_nobody_says_which_is_the_worst_where_nobody_knows() -> None:
    """The first of several runs was called the worst, whatever it was."""
    answered = [("server_answered", f"A server answered {name}.") for name in "ab"]
    found = told("server-answered", *answered)
    assert len(found.cases) == 2
    assert found.where == "In 2 of 2 runs (runs 1 and 2)."
    # One that does not tell may be worse than one that does.
    told_half = told("io-errors", ("io_errors", FAILED.format("9")), ("io_errors", "Some failed."))
    assert "worst" not in told_half.where
    alike = [("io_errors", FAILED.format("9") + end) for end in ("", " Again.")]
    assert "worst" not in told("io-errors", *alike).where


def test_of_surer_and_less_sure_cases_the_surest_is_shown() -> None:
    """Stolen time of 6 % was *the worst* beside rates that were ten times apart."""
    stolen = ("cpu_stolen", "The hypervisor took 6.0 % of CPU 0 (1 CPU in all).")
    runs = [fabricated(rates=10e3), fabricated(rates=1e3), fabricated(warnings=[stolen])]
    (found,) = [one for one in find(runs, [1, 2, 3]) if one.rule == "noisy-neighbour"]
    assert "took 6.0 %" in found.evidence
    assert found.where.endswith("; the surest is shown.")


@pytest.mark.parametrize("kind", ["io_errors", "rate_not_reached", "network_share", "new_kind"])
def test_words_of_other_versions_have_no_weight(kind: str) -> None:
    assert weight_of(kind, "It was so.") == UNKNOWN
