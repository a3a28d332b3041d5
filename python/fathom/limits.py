"""Limits on figures, such as ``p99<5ms``: kept, broken, or not to be told.

>>> limit = parse_limit("p99 < 5ms")
>>> (str(limit), limit.metric, limit.value)
('p99<5ms', 'p99', 5000000.0)

One run tells what it measured, and nothing of how runs differ: ``fathom repeat`` does, and
``fathom compare --fail-if`` judges a change. Their one grammar is here (``read_limit``): a figure,
a sign, a number and its unit, which is ``%`` of what limits a change.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NamedTuple

from fathom._tails import are_few, few_words
from fathom.errors import InvalidRequestError
from fathom.metrics import METRICS, RATES, metric_column, quantile_of, unit_of
from fathom.units import LATENCY_UNITS, rate_words, time_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.request import Request
    from fathom.result import Direction, Result, TimeSpan

__all__ = [
    "PERCENT",
    "Decision",
    "Judgement",
    "Limit",
    "ReadLimit",
    "check_measured",
    "judge_limits",
    "parse_limit",
    "read_limit",
]

Decision = Literal["kept", "broken", "cannot tell"]
PERCENT = "%"
_LIMIT = re.compile(
    r"\s*([A-Za-z0-9_.]+)\s*(<=|>=|<|>)\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]*(?:/s)?|%)\s*",
    re.ASCII,
)
_HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_WORDS = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}
# What may stand before the unit of a rate: ``50k`` or ``50kIOPS``.
_THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6}
# More digits than any figure of a run has.
_DECIMALS = 12
_ALL = 100
_MEANT = "such as 'p99<5ms', 'iops>=10000' or 'read.mean<500us'"


@dataclass(frozen=True)
class Limit:
    """A limit: ``p99<5ms`` is metric ``p99``, sign ``<``, value 5,000,000 (ns).

    Rates are in IOPS and MiB/s; ``text`` is it as it was written, without spaces.
    """

    metric: str
    sign: str
    value: float
    text: str

    def __str__(self) -> str:
        """Return it as it was written."""
        return self.text

    @property
    def is_latency(self) -> bool:
        """Whether it is of a time."""
        return unit_of(self.metric) == "ns"

    @property
    def bound(self) -> str:
        """What it allows, in words: ``less than 5 ms``, with the number as it was given."""
        found = read_limit(self.text)
        number = Decimal(found.number)
        if self.is_latency:
            return f"{_WORDS[self.sign]} {number:,f} {found.unit}"
        thousands = _THOUSANDS.get(found.unit[:1])
        if thousands is not None:
            number = (number * int(thousands)).normalize()
        return f"{_WORDS[self.sign]} {number:,f} {unit_of(self.metric)}"

    def is_kept_by(self, measured: float) -> bool:
        """Whether a figure keeps it."""
        return bool(_HOLDS[self.sign](measured, self.value))

    def words(self, measured: float) -> str:
        """Return a figure with its unit; what is shown is on the same side of the limit."""
        if not self.is_latency:
            return f"{self._beside(measured, 1)} {unit_of(self.metric)}"
        unit = time_words(measured).rpartition(" ")[2]
        return f"{self._beside(measured, LATENCY_UNITS[unit])} {unit}"

    def _beside(self, measured: float, scale: int) -> str:
        """Return a figure in a unit with three digits, or as many as it takes to be on its side."""
        value = measured / scale
        words = rate_words(value)
        decimals = len(words.partition(".")[2])
        while self._seems_kept(words, scale) != self.is_kept_by(measured) and decimals < _DECIMALS:
            decimals += 1
            words = f"{value:,.{decimals}f}"
        return words

    def _seems_kept(self, words: str, scale: int) -> bool | None:
        """Return whether a figure keeps it as it is shown; None of one that is shown as tiny."""
        try:
            return self.is_kept_by(float(words.replace(",", "")) * scale)
        except ValueError:
            return None


@dataclass(frozen=True)
class Judgement:
    """What a run says of a limit.

    Attributes
    ----------
    limit
        As it was written.
    decision
        ``kept``, ``broken``, or ``cannot tell``.
    measured
        The figure, in ns, IOPS or MiB/s; None if there is none. Of several time spans it is that of
        the worst.
    words
        All of it in a sentence: what was measured, and against which limit.

    """

    limit: str
    decision: Decision
    measured: float | None
    words: str


class ReadLimit(NamedTuple):
    """What is written: figure, sign, number with its sign, unit, and all of it without spaces."""

    metric: str
    sign: str
    number: str
    unit: str
    text: str


def read_limit(text: str, meant: str = _MEANT) -> ReadLimit:
    """Read a figure, a sign, a number and a unit, which may be missing.

    Raises
    ------
    InvalidRequestError
        If it is no limit, which ``meant`` shows an example of, or names no metric.

    """
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise InvalidRequestError(f"{text!r} is no limit {meant}")
    metric, sign, number, unit = found.groups()
    try:
        metric_column(metric)
    except ValueError as error:
        near = get_close_matches(metric, METRICS, n=1, cutoff=0.5)
        words = f": did you mean {near[0]}?" if near else ""
        raise InvalidRequestError(
            f"{str(error).partition(';')[0]}{words or _rest(error)}"
        ) from error
    return ReadLimit(metric, sign, number, unit, re.sub(r"\s", "", text))


def parse_limit(text: str) -> Limit:
    """Read ``p99<5ms``.

    Raises
    ------
    InvalidRequestError
        If it is no limit, names no metric, or has no unit or another than its metric's.

    """
    found = read_limit(text)
    if found.number.startswith(("+", "-")):
        change = "; a change against a baseline is in percent, as 'iops>-5%'"
        raise InvalidRequestError(f"{text!r} is no limit {_MEANT}{change}")
    if found.unit == PERCENT:
        raise InvalidRequestError(
            f"{text!r}: a percentage is a change, which needs a baseline: fathom gate has one"
        )
    return Limit(found.metric, found.sign, float(found.number) * _scale(found), found.text)


def _scale(found: ReadLimit) -> float:
    """Return what a number counts: nanoseconds, or I/Os and MiB per second."""
    name = found.metric.rpartition(".")[2]
    scale: float | None
    if name not in RATES:
        scale, needed = LATENCY_UNITS.get(found.unit), ", ".join(LATENCY_UNITS)
    else:
        thousands = _THOUSANDS.get(found.unit[:1]) if name == "iops" else None
        rest = found.unit if thousands is None else found.unit[1:]
        is_known = rest.lower() in ("", RATES[name].lower())
        scale = (thousands or 1.0) if is_known else None
        needed = f"{'k, M, ' * (name == 'iops')}{RATES[name]}, or nothing"
    if scale is None:
        raise InvalidRequestError(f"{found.text!r}: the unit of {found.metric} is one of {needed}")
    return scale


def _rest(error: ValueError) -> str:
    return f";{str(error).partition(';')[2]}"


def check_measured(limits: Sequence[Limit], request: Request) -> None:
    """Refuse limits of latencies that a run would not measure, before it is made.

    Raises
    ------
    InvalidRequestError
        If latencies are limited, and a time span does not measure them.

    """
    wanted = next((one for one in limits if one.is_latency), None)
    if wanted is None:
        return
    if not all(span.measure_latency for span in request.profile.time_spans):
        raise InvalidRequestError(f"{wanted}: latencies are not measured without -L: add it")


def judge_limits(result: Result, limits: Sequence[Limit]) -> list[Judgement]:
    """Return what a run says of each limit; of several time spans, the worst counts."""
    return [_judged(limit, result) for limit in limits]


def _judged(limit: Limit, result: Result) -> Judgement:
    kind, _, name = limit.metric.rpartition(".")
    values = []
    is_one = len(result.time_spans) == 1
    for number, span in enumerate(result.time_spans, start=1):
        direction: Direction = getattr(span, kind or "total")
        value = _value(direction, name, is_asked=_asks(result, number - 1, kind))
        why = _too_few(limit, direction) if value is not None else ""
        where = "" if is_one else f"time span {number}: "
        if value is None or not span.complete:
            return _cannot_tell(limit, where + _missing(span, direction))
        if why:
            return _cannot_tell(limit, f"{where}{limit.words(value)} measured, {why}")
        values.append(value)
    if not values:
        return _cannot_tell(limit, "nothing was measured")
    worst = max(values) if limit.sign.startswith("<") else min(values)
    decision: Decision = "kept" if limit.is_kept_by(worst) else "broken"
    where = "" if is_one else f" in time span {values.index(worst) + 1}, the worst"
    words = f"{limit}: {decision}: {limit.words(worst)} measured{where}; the limit is {limit.bound}"
    return Judgement(str(limit), decision, worst, words)


def _asks(result: Result, at: int, kind: str) -> bool:
    """Whether a time span asks for such I/Os, so that none of them is a rate of 0."""
    if not result.time_spans[at].measured_ns:
        return False
    if not kind:
        return True
    spans = result.request.profile.time_spans
    shares = [one.write_percent for one in spans[at].targets] if at < len(spans) else []
    return any(one > 0 if kind == "write" else one < _ALL for one in shares)


def _value(direction: Direction, name: str, *, is_asked: bool) -> float | None:
    if not direction.ios:
        # A target that answered nothing has a rate, and breaks a limit on it.
        return 0.0 if is_asked and name in RATES else None
    if name in RATES:
        return float(direction.iops if name == "iops" else direction.mib_per_s)
    latency = direction.latency
    if latency is None:
        return None
    quantile = quantile_of(name)
    if quantile is not None:
        return float(latency.quantile_ns(quantile))
    return float(latency.mean_ns if name == "mean" else latency.max_ns)


def _too_few(limit: Limit, direction: Direction) -> str:
    quantile = quantile_of(limit.metric)
    latency = direction.latency
    count = None if latency is None else latency.count
    is_few = quantile is not None and are_few(quantile, count)
    return few_words(quantile or 0.0, count) if is_few else ""


def _missing(span: TimeSpan, direction: Direction) -> str:
    if not span.complete:
        return "the run did not come to its end"
    if not direction.ios:
        return "no such I/O completed in the measured time"
    return "latencies were not measured (-L)"


def _cannot_tell(limit: Limit, why: str) -> Judgement:
    return Judgement(str(limit), "cannot tell", None, f"{limit}: cannot tell: {why}")
