"""The verdict on a target in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._claims import WEAKENING, Claim, within_sentence
from fathom.experiments.assess._classes import class_of, rank_of, suited_for
from fathom.units import counted, time_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fathom.experiments.assess.claim_maker import ClaimMaker
    from fathom.findings import Finding

__all__ = ["headline"]

# By so much a durable write has to be slower for the class to be that of the reads alone.
_FAR_CLASSES = 2
_FAR_TIMES = 10
# How most classes begin, which one behind another need not repeat.
_CLASS = "in the class of "


def headline(made: ClaimMaker, findings: Sequence[Finding]) -> Claim:
    """Return the verdict in a sentence; what speaks against the numbers stands in it."""
    if not made.plan.done():
        return Claim("headline", "Too little was measured for a verdict.")
    reads = made.single_reads()
    judged = [key for key in ("oltp", "log") if suited_for(key, made.figures) is not None]
    durable = _contradicting_write(made, reads)
    keys = [*reads, *judged, *(["write-1"] if durable else [])]
    forbidding = made.forbidden_by(*(reads or judged))
    if forbidding:
        why = _titles(one for one in findings if one.rule in forbidding)
        words = f"No verdict on a device, as these are not its numbers: {why}"
        return made.claim("headline", f"{words}.", dict.fromkeys(keys, "ns"))
    lead, more = _of_reads(made, reads, durable, is_judged=bool(judged))
    limiting = made.forbidden_by(*keys)
    if limiting:
        # What reads tell stands by itself where only writes met a limit.
        why = _titles(one for one in findings if one.rule in limiting)
        lead += ", by its reads alone"
        more.append(f"of its writes nothing is concluded: {why}")
        keys = reads
    elif judged:
        more.append(_uses(made))
    elif any(one.cell.writes for one in made.plan.done()):
        more.append("how it serves a transaction database was not measured")
    elif reads:
        lead += ", as far as reading tells"
    glue = ": " if len(reads) > 1 and not durable else "; "
    words = glue.join([lead, "; ".join(more)]) if more else lead
    words += _reservations(made, findings)
    return made.claim("headline", f"{words}.", dict.fromkeys(keys, "ns"))


def _of_reads(
    made: ClaimMaker, reads: Sequence[str], durable: str, *, is_judged: bool
) -> tuple[str, list[str]]:
    """Return the class, or why there is none, and what belongs to it."""
    first = made.cells["read-1"]
    fate = "failed" if first.state == "failed" else "is missing"
    if not reads and is_judged:
        return f"Its class is not known, as {first.cell.label}, {fate}", []
    if not reads:
        return f"Too little was measured for a verdict: {first.cell.label}, {fate}", []
    lead = f"It is {_class_words([made.mean_ns(key) for key in reads])}{durable}"
    if len(reads) > 1:
        at_first, at_end = (time_words(made.mean_ns(key)) for key in reads)
        return lead, [f"the same load took {at_first} at first and {at_end} at the end"]
    if reads[0] == "read-1":
        return lead, []
    return lead, [f"this is by {first.cell.label}, at the end, as its first run {fate}"]


def _class_words(means_ns: Sequence[float]) -> str:
    """Return the class of one mean, or from that of the least to that of the greatest."""
    fastest, slowest = class_of(min(means_ns)), class_of(max(means_ns))
    if fastest == slowest:
        return fastest
    if not fastest.startswith(_CLASS):
        return f"{fastest}, to {slowest}"
    return f"{fastest} to that of {slowest.removeprefix(_CLASS)}"


def _uses(made: ClaimMaker) -> str:
    """Return what the workloads that were measured say."""
    oltp, log = (suited_for(key, made.figures) for key in ("oltp", "log"))
    if oltp is None:
        return f"{log} for a database's log; how it serves a transaction database was not measured"
    if log is None or log == oltp:
        return f"{oltp} for a transaction database{'' if log is None else ' and its log'}"
    return f"{oltp} for a transaction database, and {log} for its log"


def _contradicting_write(made: ClaimMaker, reads: Sequence[str]) -> str:
    """Say that the class is that of reads alone, where durable writes are far from it.

    A cache above the device answers reads, and none of the writes that it has to hand on. What a
    limit took its time from says nothing of the device.
    """
    one = made.figures.get("write-1")
    write_ns = None if one is None else one.latency_mean_ns
    if not reads or write_ns is None or not made.is_durable("write-1"):
        return ""
    read_ns = max(made.mean_ns(key) for key in reads)
    is_far = write_ns >= _FAR_TIMES * read_ns
    if not is_far or rank_of(write_ns) - rank_of(read_ns) < _FAR_CLASSES:
        return ""
    if made.forbidden_by("write-1"):
        return ""
    return (
        f" by its reads alone: a write that survives an outage takes {write_ns / read_ns:.0f} "
        f"times as long, and is {class_of(write_ns)}"
    )


def _titles(findings: Iterable[Finding]) -> str:
    titles = {f"{within_sentence(one.title)} ({one.confidence})" for one in findings}
    return "; ".join(sorted(titles))


def _reservations(made: ClaimMaker, findings: Sequence[Finding]) -> str:
    """Return what a reader must know beside the verdict: what weakens it, and how little it is."""
    weak = [one for one in findings if one.rule in WEAKENING and _counts(one)]
    titles = dict.fromkeys(made.about(one) for one in weak)
    words = f"; but {'; '.join(titles)}" if titles else ""
    missing = len(made.plan.missing())
    if not missing:
        return words
    done = len(made.plan.done())
    return f"{words}; this rests on {done} of {counted(done + missing, 'measurement')}"


def _counts(one: Finding) -> bool:
    """Whether a finding stands in the headline: what is merely possible does not, but for data."""
    return one.confidence != "possible" or one.rule == "constant-data"
