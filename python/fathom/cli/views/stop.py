"""Why a time span with stop rules ended, in sentences, as ``diskspd`` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._digits import beside_limit
from fathom.units import NS_PER_MS, NS_PER_S, counted

if TYPE_CHECKING:
    from fathom import KnownMean, SteadyWindow, Stop, TimeSpan
    from fathom._stop import Awaited

__all__ = ["stop_sentences"]


def stop_sentences(span: TimeSpan) -> list[str]:
    """Return what ended a time span and what its rules found; nothing if it had none."""
    if span.stop is None:
        return []
    known = span.stop.confidence
    if known is not None and not known.precision_percent_limit:
        # Of another tool with a fixed duration, which had no rule.
        return [_known_all_the_same(span.stop, known)]
    sentences = [_ended(span, span.stop.cause)]
    if span.stop.steady is not None:
        sentences.append(_steady(span.stop, span.stop.steady))
    if span.stop.confidence is not None:
        sentences.append(_confidence(span.stop, span.stop.confidence))
        sentences += _cut(span.stop.confidence)
    if span.stop.awaited is not None:
        sentences.append(_awaited(span.stop.awaited))
    if span.stop.cause == "confidence":
        sentences.append(_unseen(span, known))
    return sentences


def _ended(span: TimeSpan, cause: str) -> str:
    why = {
        "duration": "with its whole duration, before a stop rule was met",
        "interruption": "with an interruption, before a stop rule was met",
        "bytes": f"when {span.total.bytes} bytes had been transferred",
        "ios": f"when {counted(span.total.ios, 'I/O')} had completed",
        "pass": f"after one pass over the range, of {counted(span.total.ios, 'I/O')}",
        "steady": "when the rate was steady by the SNIA's rule",
        "confidence": "when the mean of the rate was known",
    }[cause]
    return f"The measured time ended at {span.measured_ns / NS_PER_S:.3f} s, {why}."


def _steady(stop: Stop, window: SteadyWindow) -> str:
    spread = beside_limit(window.range_percent, window.range_percent_limit, 2)
    slope = beside_limit(window.slope_percent, window.slope_percent_limit, 2)
    return (
        f"The last {window.window_intervals} intervals of {_interval_ms(stop)} ms had a mean of "
        f"{window.iops_mean:.1f} IOPS, a range of {spread} % of it (steady: at most "
        f"{window.range_percent_limit:g} %) and a slope of {slope} % (at most "
        f"{window.slope_percent_limit:g} %)."
    )


def _confidence(stop: Stop, known: KnownMean) -> str:
    return (
        f"With {known.level_percent:g} % confidence the mean is between {known.iops_low:.1f} and "
        f"{known.iops_high:.1f} IOPS, {known.iops_mean:.1f} +- {known.precision_percent:.2f} % "
        f"(requested: {known.precision_percent_limit:g} %); "
        f"{stop.intervals - known.transient_intervals} intervals of {_interval_ms(stop)} ms were "
        f"worth {known.effective_samples:.1f} independent ones."
    )


def _cut(known: KnownMean) -> list[str]:
    if not known.transient_intervals:
        return []
    seconds = known.transient_ns / NS_PER_S
    words = (
        f"From 0 to {seconds:.3f} s the rate approached its level, at a mean of "
        f"{known.transient_iops:.1f} IOPS: this transient is left out of that mean, and of nothing "
        "else."
    )
    return [words]


def _unseen(span: TimeSpan, known: KnownMean | None) -> str:
    seconds = span.measured_ns / NS_PER_S / 3
    words = f"What happens less often than every {seconds:.1f} s may not have been seen"
    if known is None:
        return f"{words}."
    return f"{words}; but for that, the interval holds at {known.level_percent:g} % or more."


def _awaited(found: Awaited) -> str:
    seen, needed = found.seen, found.needed
    precision = beside_limit(seen, needed, 2)
    none = "No interval of the mean is given."
    what = {
        "transient": f"the end of a transient, which was not in sight after {seen:.3f} s.",
        "seconds": f"a longer time: {seen:.3f} s were seen of {needed:.3f} s.",
        "episodes": f"more stalls or bursts: {seen:g} were seen, and fewer than {needed:g} do not "
        f"tell how often they come. {none}",
        "periods": f"four of the slowest periods: {seen:.3f} s were seen of {needed:.3f} s. {none}",
        "level": f"a level that stays: it changed within {seen:.3f} s. {none}",
        "values": f"more independent intervals, as these are skewed: {seen:.0f} were seen of "
        f"{needed:.0f}. {none}",
        "precision": f"a narrower interval: {precision} % were reached of {needed:g} %.",
    }
    return f"The rule waited for {what[found.kind]}"


def _known_all_the_same(stop: Stop, known: KnownMean) -> str:
    return (
        f"With {known.level_percent:g} % confidence the mean is between {known.iops_low:.1f} and "
        f"{known.iops_high:.1f} IOPS, {known.iops_mean:.1f} +- {known.precision_percent:.2f} %: "
        f"{stop.intervals} intervals of {_interval_ms(stop)} ms were worth "
        f"{known.effective_samples:.1f} independent ones."
    )


def _interval_ms(stop: Stop) -> int:
    return stop.interval_ns // NS_PER_MS
