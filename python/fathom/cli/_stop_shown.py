"""Why a time span with stop rules ended, in sentences, as ``diskspd`` tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom import KnownMean, SteadyWindow, Stop, TimeSpan

__all__ = ["stop_sentences"]

_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MILLI = 1_000_000


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
    return sentences


def _ended(span: TimeSpan, cause: str) -> str:
    why = {
        "duration": "with its whole duration, before a stop rule was met",
        "interruption": "with an interruption, before a stop rule was met",
        "bytes": f"when {span.total.bytes} bytes had been transferred",
        "ios": f"when {span.total.ios} I/Os had completed",
        "pass": f"after one pass over the range, of {span.total.ios} I/Os",
        "steady": "when the rate was steady",
        "confidence": "when the mean of the rate was known",
    }[cause]
    return f"The measured time ended at {span.measured_ns / _NANOS_PER_SECOND:.3f} s, {why}."


def _steady(stop: Stop, window: SteadyWindow) -> str:
    return (
        f"The last {window.window_intervals} intervals of {_interval_ms(stop)} ms had a mean of "
        f"{window.iops_mean:.1f} IOPS, a range of {window.range_percent:.2f} % of it (steady: at "
        f"most {window.range_percent_limit:g} %) and a slope of {window.slope_percent:.2f} % (at "
        f"most {window.slope_percent_limit:g} %)."
    )


def _confidence(stop: Stop, known: KnownMean) -> str:
    transient = "no transient was found"
    if known.transient_intervals:
        seconds = known.transient_ns / _NANOS_PER_SECOND
        transient = f"the first {seconds:.3f} s were a transient"
    return (
        f"With {known.level_percent:g} % confidence the mean is between {known.iops_low:.1f} and "
        f"{known.iops_high:.1f} IOPS, {known.iops_mean:.1f} +- {known.precision_percent:.2f} % "
        f"(asked for: {known.precision_percent_limit:g} %); "
        f"{stop.intervals - known.transient_intervals} intervals of {_interval_ms(stop)} ms were "
        f"worth {known.effective_samples:.1f} independent ones, and {transient}."
    )


def _known_all_the_same(stop: Stop, known: KnownMean) -> str:
    return (
        f"With {known.level_percent:g} % confidence the mean is between {known.iops_low:.1f} and "
        f"{known.iops_high:.1f} IOPS, {known.iops_mean:.1f} +- {known.precision_percent:.2f} %: "
        f"{stop.intervals} intervals of {_interval_ms(stop)} ms were worth "
        f"{known.effective_samples:.1f} independent ones."
    )


def _interval_ms(stop: Stop) -> int:
    return stop.interval_ns // _NANOS_PER_MILLI
