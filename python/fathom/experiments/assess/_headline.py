"""The verdict on a target in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._claims import WEAKENING, Claim
from fathom.experiments.assess._classes import class_of, rank_of, suited_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom.experiments.assess.claim_maker import ClaimMaker
    from fathom.findings import Finding
    from fathom.runners import Figures

__all__ = ["headline"]

# By so much a durable write has to be slower for the class to be that of the reads alone.
_FAR_CLASSES = 2
_FAR_TIMES = 10


def headline(made: ClaimMaker, findings: Sequence[Finding]) -> Claim:
    """Return the verdict in a sentence; what speaks against the numbers stands in it."""
    figures = made.figures
    read = figures.get("read-1")
    if read is None or read.latency_mean_ns is None:
        return Claim("headline", "Too little was measured for a verdict.")
    durable = _contradicting_write(figures)
    shown = ("read-1", "oltp", "log", *(["write-1"] if durable else []))
    keys = [key for key in shown if key in figures]
    if made.forbidden_by("read-1"):
        return made.claim("headline", _forbidden_words(made, findings), dict.fromkeys(keys, "ns"))
    words = f"It is {class_of(read.latency_mean_ns)}{durable}"
    if made.forbidden_by(*keys):
        # What reads tell stands by itself where only writes met a limit.
        why = _titles(one for one in findings if one.rule in made.forbidden_by(*keys))
        words += f", by its reads alone; of its writes nothing is concluded: {why}"
        words += _reservations(made, findings)
        return made.claim("headline", f"{words}.", {"read-1": "ns"})
    oltp, log = suited_for("oltp", figures), suited_for("log", figures)
    if oltp is None:
        words += ", as far as reading tells"
    elif log is None or log == oltp:
        both = "" if log is None else " and its log"
        words += f"; {oltp} for a transaction database{both}"
    else:
        words += f"; {oltp} for a transaction database, and {log} for its log"
    words += _reservations(made, findings)
    return made.claim("headline", f"{words}.", dict.fromkeys(keys, "ns"))


def _contradicting_write(figures: Mapping[str, Figures]) -> str:
    """Say that the class is that of reads alone, where durable writes are far from it.

    A cache above the device answers reads, and none of the writes that it has to hand on.
    """
    read, write = (
        None if one is None else one.latency_mean_ns
        for one in (figures.get("read-1"), figures.get("write-1"))
    )
    if read is None or write is None or write < _FAR_TIMES * read:
        return ""
    if rank_of(write) - rank_of(read) < _FAR_CLASSES:
        return ""
    return (
        f" by its reads alone: a write that survives an outage takes {write / read:.0f} times as "
        f"long, and is {class_of(write)}"
    )


def _forbidden_words(made: ClaimMaker, findings: Sequence[Finding]) -> str:
    """Say why the numbers allow no verdict on a device."""
    why = _titles(one for one in findings if one.rule in made.forbidden_by("read-1"))
    return f"No verdict on a device, as these are not its numbers: {why}."


def _titles(findings: Iterable[Finding]) -> str:
    titles = {f"{one.title[:1].lower()}{one.title[1:]} ({one.confidence})" for one in findings}
    return "; ".join(sorted(titles))


def _reservations(made: ClaimMaker, findings: Sequence[Finding]) -> str:
    """Return what a reader must know beside the verdict: what weakens it, and how little it is."""
    weak = [one for one in findings if one.rule in WEAKENING and _counts(one)]
    titles = dict.fromkeys(made.about(one) for one in weak)
    words = f"; but {'; '.join(titles)}" if titles else ""
    unreached = sum(one.state in ("pending", "failed") for one in made.plan.cells)
    if not unreached:
        return words
    done = len(made.plan.done())
    return f"{words}; this rests on {done} of {done + unreached} measurements"


def _counts(one: Finding) -> bool:
    """Whether a finding stands in the headline: what is merely possible does not, but for data."""
    return one.confidence != "possible" or one.rule == "constant-data"
