"""What storage is good for, in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom._tails import few_words
from fathom.experiments.assess._classes import suited_for
from fathom.experiments.assess._headline import headline
from fathom.experiments.assess._steady_claims import steady_claims
from fathom.experiments.assess.claim_maker import ClaimMaker, why_not_most
from fathom.experiments.assess.key_figure import (
    RANDOM_READS,
    best_cell,
    best_in_order,
    most_random_reads,
    number_words,
    value_words,
)
from fathom.hosts import hosts_words, rates_sentence
from fathom.units import TIMES_S, counted, time_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._claims import Claim, Unit
    from fathom.experiments.assess.session import AssessedCell, TargetCells
    from fathom.findings import Finding
    from fathom.result import Stop
    from fathom.runners import Figures

__all__ = ["Verdict", "suited_for", "verdict_of"]

_MIB_OF_TIB = 1 << 20
# Less is no gain that anybody would notice.
_MORE = 1.05
_RULE = "--stop-confidence=95:"


@dataclass(frozen=True)
class Verdict:
    """What a target is good for.

    Attributes
    ----------
    target
        What the user called it.
    headline
        The verdict in one sentence.
    sentences
        What it stands on, with numbers.
    left_out
        The cells that would have written, where nothing may be written.
    partial
        Why not all could be measured, in a sentence; None if all was.
    claims
        The headline and the sentences that have numbers, each with what it rests on.

    """

    target: str
    headline: str
    sentences: list[str]
    left_out: list[str]
    partial: str | None = None
    claims: list[Claim] = field(default_factory=list)


def verdict_of(
    plan: TargetCells, findings: Sequence[Finding], *, interrupted: bool = False
) -> Verdict:
    """Return the verdict on what was measured."""
    made = ClaimMaker(plan, findings)
    partial = _partial(plan, interrupted=interrupted)
    first = headline(made, findings)
    parts = (_latency, _saturation, _sequential, _durable, _oltp, _log, _backup, _threads, _caches)
    claims = [claim for part in parts if (claim := part(made)) is not None]
    claims += steady_claims(plan, made)
    claims += _precision(plan, made)
    sentences = [one.text for one in claims]
    sentences[:0] = _rates(plan, made)
    missing = list(dict.fromkeys(one.cell.label for one in plan.cells if one.state == "left_out"))
    if missing:
        sentences.append(
            "Nothing was written, so that how it writes is not known; --write measures that, and "
            "destroys what the target holds."
        )
    return Verdict(plan.target.name, first.text, sentences, missing, partial, [first, *claims])


def _partial(plan: TargetCells, *, interrupted: bool) -> str | None:
    """Return why there is less than was planned; what was skipped for being needless is not."""
    missing = plan.missing()
    if plan.lost is None and not missing:
        return None
    failed = sum(one.state == "failed" for one in missing)
    unreached = len(missing) - failed
    count = len(plan.done())
    made = f"{counted(count, 'measurement')} {_was(count)} made"
    words = f"This verdict is partial: {made}"
    if plan.lost is not None:
        parts = [f"{failed} failed"] * bool(failed)
        parts += [f"{unreached} {_was(unreached)} not reached"] * bool(unreached)
        others = f" Of the others, {' and '.join(parts)}." if parts else ""
        return f"{words}, then {plan.lost}.{others}"
    if plan.unwritable is not None:
        cause, _, remedy = plan.unwritable.partition("; ")
        unreached = sum(one.state == "pending" for one in missing)
        cut = f" It was interrupted before {unreached} of them." if unreached else ""
        return (
            f"{words}, {failed} failed, and nothing was written from then on, as {cause}: "
            f"{remedy}, then go on with fathom assess --resume last.{cut}"
        )
    if unreached:
        told = f", {failed} failed" if failed else ""
        when = " when it was interrupted" if interrupted else ""
        return f"{words}{told}, and {unreached} {_was(unreached)} not reached{when}."
    return f"{words}, and {failed} failed."


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _rates(plan: TargetCells, made: ClaimMaker) -> list[str]:
    """Say whose rates these are, where several hosts have a part in them."""
    counts = {made.hosts(one.cell.key) for one in plan.done()}
    if max(counts, default=0) < 2:  # noqa: PLR2004 - A host alone has nobody beside it.
        return []
    return [rates_sentence(hosts_words(counts))]


def _latency(made: ClaimMaker) -> Claim | None:
    reads = made.single_reads()
    one = made.figures[reads[0]] if reads else None
    if one is None or one.latency_mean_ns is None or one.latency_p99_ns is None:
        return None
    hosts = made.hosts(reads[0])
    each = f" on each of {hosts} hosts" if hosts > 1 else ""
    is_first = reads[0] == "read-1"
    at_end = "" if is_first else ", at the end"
    words = (
        f"A random read of 4 KiB takes {time_words(one.latency_mean_ns)} on average, "
        f"and 99 of 100 take at most {time_words(one.latency_p99_ns)} (one at a time{each}{at_end}"
        f"{_few(one)})"
    )
    if len(reads) > 1:
        words += f"; the same load took {time_words(made.mean_ns(reads[1]))} at the end"
    keys: dict[str, Unit] = dict.fromkeys(reads, "ns")
    key = "latency" if is_first else "latency-at-end"
    return made.claim(key, f"{words}{made.stalls(*reads)}.", keys)


def _few(one: Figures) -> str:
    words = few_words(0.99, one.latency_ios)
    return f"; {words}" if words else ""


def _saturation(made: ClaimMaker) -> Claim | None:
    figures = made.figures
    key = most_random_reads(made.plan)
    if key is None:
        return None
    why = why_not_most(made.plan, RANDOM_READS, besides=("read-1",))
    most = "" if why else "at most "
    rate = number_words(figures[key].iops)
    words = f"It completes {most}{rate} random reads of 4 KiB a second"
    words += f" ({made.conditions(key)})"
    keys: dict[str, Unit] = {key: "IOPS"}
    write = figures.get("random-write")
    if write is not None:
        words += f", and {number_words(write.iops)} writes ({made.conditions('random-write')})"
        keys["random-write"] = "IOPS"
        words += made.stalls("random-write")
    words += f"; {why}" if why else ""
    return made.claim("saturation", f"{words}.", keys)


def _sequential(made: ClaimMaker) -> Claim | None:
    figures = made.figures
    key = best_in_order(figures)
    if key is None:
        return None
    rate = value_words(figures[key].mib_per_s, "mib_per_s")
    words = f"In order it reads {rate} ({made.conditions(key)})"
    keys: dict[str, Unit] = {key: "MiB/s"}
    write = figures.get("sequential-write")
    if write is not None:
        where = made.conditions("sequential-write")
        words += f" and writes {value_words(write.mib_per_s, 'mib_per_s')} ({where})"
        keys["sequential-write"] = "MiB/s"
    return made.claim("sequential", f"{words}{made.stalls(*keys)}.", keys)


def _durable(made: ClaimMaker) -> Claim | None:
    one, plain = made.figures.get("write-1"), made.figures.get("plain-write-1")
    if one is None or one.latency_mean_ns is None:
        return None
    how = "has to" if made.is_durable("write-1") else "need not"
    words = f"A write that {how} survive an outage takes {time_words(one.latency_mean_ns)}"
    keys: dict[str, Unit] = {"write-1": "ns"}
    if plain is not None and plain.latency_mean_ns is not None:
        words += f", one that need not {time_words(plain.latency_mean_ns)}"
        keys["plain-write-1"] = "ns"
        why = made.apart("write-1", "plain-write-1")
        words += "" if why is None else f", which cannot be compared: {why}"
    return made.claim("durable", f"{words}{made.stalls(*keys)}.", keys)


def _oltp(made: ClaimMaker) -> Claim | None:
    one, suited = made.figures.get("oltp"), suited_for("oltp", made.figures)
    if one is None or one.latency_mean_ns is None or one.latency_p99_ns is None:
        return None
    words = (
        f"{number_words(one.iops)} reads and writes of 8 KiB a second, 70 % of them reads, in "
        f"{time_words(one.latency_mean_ns)} on average and {time_words(one.latency_p99_ns)} for "
        f"99 of 100 ({made.conditions('oltp')}{_few(one)}){made.stalls('oltp')}."
    )
    judged = f"For a transaction database it is {suited}: {words}"
    plain = f"The load of a transaction database: {words}"
    return made.judged("oltp", judged, plain, {"oltp": "ns"})


def _log(made: ClaimMaker) -> Claim | None:
    one, suited = made.figures.get("log"), suited_for("log", made.figures)
    if one is None or one.latency_mean_ns is None:
        return None
    words = (
        f"a full log buffer is written in {time_words(one.latency_mean_ns)}, "
        f"{value_words(one.iops, 'ios_per_s')} ({made.conditions('log')}){made.stalls('log')}."
    )
    judged = f"For a database's log it is {suited}: {words}"
    return made.judged("log", judged, f"The load of a database's log: {words}", {"log": "ns"})


def _backup(made: ClaimMaker) -> Claim | None:
    one = made.figures.get("backup")
    if one is None or not one.mib_per_s:
        return None
    words = _long_words(_MIB_OF_TIB / one.mib_per_s)
    rate = value_words(one.mib_per_s, "mib_per_s")
    text = f"A backup reads {rate}: 1 TiB takes {words}{made.stalls('backup')}."
    return made.claim("backup", text, {"backup": "MiB/s"})


def _long_words(seconds: float) -> str:
    """Return a time in seconds, minutes, hours or days, of which there are two at least."""
    for name, unit_s in (("days", TIMES_S["d"]), ("hours", TIMES_S["h"])):
        if seconds >= 2 * unit_s:
            return f"{number_words(seconds / unit_s)} {name}"
    minute_s = TIMES_S["m"]
    return f"{seconds / minute_s:.0f} minutes" if seconds >= 2 * minute_s else f"{seconds:.0f} s"


def _scattered(made: ClaimMaker, gain: float) -> str | None:
    """Say what speaks against a gain, if the baseline differs more from itself than that."""
    rates = made.scatter(gain)
    if rates is None:
        return None
    return (
        f"one load, 4K random read at depth 1, gave {number_words(rates[0])} and "
        f"{number_words(rates[1])} IOPS at different times"
    )


def _against(one: Figures, other: Figures) -> str:
    return f"{number_words(one.iops)} against {value_words(other.iops, 'ios_per_s')}"


def _threads(made: ClaimMaker) -> Claim | None:
    """Compare threads with one thread at the same depth; that of one thread is reported, too."""
    figures = made.figures
    pairs = [
        (key, single)
        for key in figures
        if key.startswith("threads-") and (single := made.single_at(made.depth(key))) is not None
    ]
    if not pairs:
        return None
    # A pair that tells something is better than a greater rate that tells nothing.
    many, single = max(pairs, key=lambda pair: (made.apart(*pair) is None, figures[pair[0]].iops))
    gain = figures[many].iops / figures[single].iops
    count = many.removeprefix("threads-")
    depth = made.depth(many)
    rates = _against(figures[many], figures[single])
    keys: dict[str, Unit] = {many: "IOPS", single: "IOPS"}
    why = made.apart(many, single) or _scattered(made, gain)
    if why is not None:
        words = (
            f"Whether more threads help is not known: at depth {depth} each, {count} and one gave "
            f"{rates}, but {why}."
        )
        return made.claim("threads", words, keys)
    if gain < _MORE:
        words = (
            f"More threads do not help: at depth {depth} each, {count} complete {gain:.2f} times "
            f"as many random reads as one ({rates})"
        )
    else:
        words = (
            f"At depth {depth} each, {count} threads complete {gain:.2f} times the random reads of "
            f"one ({rates})"
        )
    best = best_cell(figures, "read-1", "random-")
    is_more = best is not None and figures[best].iops > _MORE * figures[single].iops
    if best is not None and is_more and made.apart(best, single) is None:
        words += f"; one thread at depth {made.depth(best)} completes "
        words += number_words(figures[best].iops)
        keys[best] = "IOPS"
    return made.claim("threads", f"{words}.", keys)


def _caches(made: ClaimMaker) -> Claim | None:
    """Compare the page cache with reads of the same range past it."""
    figures = made.figures
    past = made.past_the_cache()
    if past is None or not figures[past].iops:
        return None
    gain = figures["cached"].iops / figures[past].iops
    keys: dict[str, Unit] = {past: "IOPS", "cached": "IOPS"}
    why = made.apart_from_the_cache(past) or _scattered(made, gain)
    if why is not None:
        rates = _against(figures["cached"], figures[past])
        words = (
            f"How much faster the system's own memory (page cache) is read is not known: it gave "
            f"{rates}, but {why}."
        )
    elif gain < _MORE:
        words = (
            "Through the system's own memory (page cache) reads were not faster within the time."
        )
    else:
        words = (
            "What the system holds in its own memory (page cache) is read "
            f"{gain:.1f} times as fast."
        )
    return made.claim("caches", words, keys)


def _precision(plan: TargetCells, made: ClaimMaker) -> list[Claim]:
    """Tell how many means are known as well as was wanted, unless all are."""
    ends: list[tuple[str, AssessedCell, Stop]] = []
    for one in plan.done():
        stop = one.result.time_spans[0].stop if one.result is not None else None
        limit = next((a for a in one.arguments if a.startswith(_RULE)), None)
        if stop is not None and limit is not None and one.cell.seconds is None:
            ends.append((limit.removeprefix(_RULE), one, stop))
    known = sum(stop.cause == "confidence" for _, _, stop in ends)
    if known == len(ends):
        return []
    without = sum(stop.confidence is None for _, _, stop in ends)
    count = f"{known} of {counted(len(ends), 'measurement')}" if known else "no measurement"
    words = f"The mean is known to within {ends[0][0]} % in {count}"
    words += "; the others ended with their time" if known else ": all ended with their time"
    words += f", {without} of them too soon for any interval" if without else ""
    keys: dict[str, Unit] = {one.cell.key: "IOPS" for _, one, _ in ends}
    return [made.claim("precision", f"{words}.", keys)]
