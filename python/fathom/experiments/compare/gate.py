"""``--fail-if``: whether a change is shown to be beyond a limit, within it, or neither."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fathom._p_values import p_equation
from fathom.errors import InvalidRequestError
from fathom.limits import PERCENT, ReadLimit, read_limit

if TYPE_CHECKING:
    from fathom.experiments.compare._figures import ComparedFigures
    from fathom.stats import Comparison

__all__ = [
    "NAME_APART",
    "Decision",
    "FailCondition",
    "Verdict",
    "beside_limit_words",
    "change_of",
    "parse_condition",
    "verdict",
    "verdict_words",
]

Decision = Literal["fails", "passes", "cannot tell"]
_MEANT = "such as 'p99>+5%' or 'iops<-3%'"
NAME_APART = "name each on one side alone"
"""What helps where a run is on both sides: more runs would not."""
# What stands around the number of a condition.
_LIMIT = re.compile(r"^.*[<>]=?|%$")
_MOST_DECIMALS = 9


@dataclass(frozen=True)
class FailCondition:
    """A change that is too much: ``p99>+5%`` is metric ``p99``, above ``0.05``."""

    metric: str
    is_above: bool
    limit: float

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.metric}{'>' if self.is_above else '<'}{100 * self.limit:+.12g}%"


def parse_condition(text: str) -> FailCondition:
    """Read ``p99>+5%``.

    Raises
    ------
    ValueError
        If the text is no condition, or names no metric.

    """
    try:
        found = read_limit(text, _MEANT)
    except InvalidRequestError as error:
        words = str(error).replace("is no limit", "is no condition")
        raise ValueError(words) from error
    if found.unit != PERCENT or found.sign not in ("<", ">"):
        raise ValueError(f"{text!r} is no condition {_MEANT}")
    try:
        return FailCondition(found.metric, found.sign == ">", change_of(found))
    except InvalidRequestError as error:
        raise ValueError(str(error)) from error


def change_of(found: ReadLimit) -> float:
    """Return the change that is written in percent, as a share.

    Raises
    ------
    InvalidRequestError
        If no figure can change by that: a ratio of 0 and below is no number that a test tells of.

    """
    share = float(found.number) / 100
    if share <= -1:
        raise InvalidRequestError(
            f"{found.text!r}: no figure falls by 100 % or more: write less, such as "
            f"'{found.metric}{found.sign}-50%'"
        )
    return share


@dataclass(frozen=True)
class Verdict:
    """Whether a condition is met.

    Attributes
    ----------
    condition
        As it is written.
    change
        Of its figure; None if that cannot be compared.
    p_value
        The probability of such a change by chance, among the conditions only: those are what was
        asked, and the other figures take nothing from it.
    is_met
        The true change is beyond the limit, and chance is no explanation of that.
    why_not
        Why it cannot be judged.
    decision
        ``fails`` if it is met; ``passes`` if the true change is shown to stay within the limit; and
        ``cannot tell``. Each of both is a one-sided test against the limit.
    pass_p_value
        The probability of a change so small by chance, if the true one were at the limit.
    doubts
        Why no test of the means would hold, in words.

    """

    condition: str
    change: float | None
    p_value: float | None
    is_met: bool
    why_not: str | None
    decision: Decision = "cannot tell"
    pass_p_value: float | None = None
    doubts: tuple[str, ...] = ()


def verdict(condition: FailCondition, asked: ComparedFigures, count: int) -> Verdict:
    """Decide on one of so many conditions."""
    if condition.metric in asked.too_few:
        doubts = (asked.missing[condition.metric],)
        return Verdict(str(condition), None, None, is_met=False, why_not=None, doubts=doubts)
    if condition.metric not in asked.metrics:
        return Verdict(
            str(condition), None, None, is_met=False, why_not=asked.missing[condition.metric]
        )
    found = asked.metrics[condition.metric]
    sides = found.p_beyond(condition.limit), found.p_below(condition.limit)
    fail_p, pass_p = sides if condition.is_above else sides[::-1]
    level = 1 - found.confidence
    # One of several conditions fails by chance more often than each; all of them have to pass.
    fail_p = min(fail_p * count, 1.0)
    decision: Decision = "cannot tell"
    if fail_p < level:
        decision = "fails"
    elif pass_p < level:
        decision = "passes"
    return Verdict(
        str(condition),
        found.change,
        fail_p,
        decision == "fails",
        None,
        decision,
        pass_p,
        _doubts(found),
    )


def _doubts(found: Comparison) -> tuple[str, ...]:
    if found.between_runs:
        return found.doubts
    apart = (one for one in found.doubts if NAME_APART in one)
    return (*apart, f"{found.single_side}, which tells nothing of how runs differ")


def verdict_words(one: Verdict) -> str:
    """Return what was decided on a condition, as words that go on behind it, without a full stop.

    ``fails`` and ``shown to stay within`` stand for what was shown; where nothing was, the words
    are ``cannot tell`` with the probabilities or the doubts.
    """
    if one.why_not is not None:
        return f"cannot be judged: {one.why_not}"
    if one.decision == "cannot tell":
        return f"cannot tell, as {_untold_words(one)}"
    change = f"a change of {beside_limit_words(one)} %"
    if one.decision == "fails":
        return f"fails, with {change}, which is beyond the limit (p {p_equation(one.p_value)})"
    return f"shown to stay within the limit, with {change} (p {p_equation(one.pass_p_value)})"


def _untold_words(one: Verdict) -> str:
    if one.doubts or one.change is None:
        return ", ".join(one.doubts) or "its figure was not compared"
    return (
        f"the change is {beside_limit_words(one)} %, and neither beyond the limit "
        f"(p {p_equation(one.p_value)}) nor within it (p {p_equation(one.pass_p_value)}) is shown"
    )


def beside_limit_words(one: Verdict) -> str:
    """Return a change in percent, which is not shown to be the limit unless it is."""
    change = 100 * (one.change or 0.0)
    limit = float(_LIMIT.sub("", one.condition))
    for decimals in range(2, _MOST_DECIMALS):
        words = f"{change:+.{decimals}f}"
        if float(words) != limit or math.isclose(change, limit, rel_tol=1e-12):
            break
    return words
