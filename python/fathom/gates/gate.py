"""What a gate asks: limits on figures, limits on changes, and figures that may not get worse.

>>> [type(parse_rule(one)).__name__ for one in ("p99<2ms", "iops>-5%", "p99")]
['Limit', 'ChangeLimit', 'NoWorse']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.compare.gate import FailCondition, change_of
from fathom.limits import PERCENT, Limit, parse_limit, read_limit
from fathom.metrics import METRICS, higher_is_better

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["UNNAMED", "ChangeLimit", "Gate", "NoWorse", "Rule", "gate_of", "parse_rule"]

UNNAMED = "gate"
"""What a gate is called that has no name of its own."""

_MEANT = "such as 'p99<2ms', 'iops>50k', against a baseline 'iops>-5%', or 'p99' for no worse"


@dataclass(frozen=True)
class ChangeLimit:
    """A limit on the change against a baseline: ``iops>-5%`` is broken by 5 % less and by more.

    ``condition`` is the same in the words of ``fathom compare --fail-if``.
    """

    metric: str
    condition: FailCondition
    text: str

    def __str__(self) -> str:
        """Return it as it was written."""
        return self.text


@dataclass(frozen=True)
class NoWorse:
    """A figure that may not be worse than the baseline's, by the verdict of a comparison."""

    metric: str

    def __str__(self) -> str:
        """Return it as it is written."""
        return self.metric


Rule = Limit | ChangeLimit | NoWorse


@dataclass(frozen=True)
class Gate:
    """Limits that are judged together.

    Attributes
    ----------
    name
        Of the table in the file, or ``gate``.
    rules
        The limits, at least one.
    baseline
        A run, an experiment or a baseline of the store; None where no limit needs one.
    label
        Whose newest runs are judged where none are named.
    confidence
        Of the intervals, between 0 and 1.
    any_load
        Whether runs of another load than the baseline's are compared, too.

    """

    name: str
    rules: tuple[Rule, ...]
    baseline: str | None = None
    label: str | None = None
    confidence: float = 0.95
    any_load: bool = False

    @property
    def about(self) -> str:
        """What stands before a message about it: nothing, where it has no name of its own."""
        return _about(self.name)

    @property
    def absolute(self) -> list[Limit]:
        """The limits that need no baseline."""
        return [one for one in self.rules if isinstance(one, Limit)]

    @property
    def relative(self) -> list[ChangeLimit | NoWorse]:
        """The limits on what changed against the baseline."""
        return [one for one in self.rules if not isinstance(one, Limit)]


def gate_of(  # noqa: PLR0913 - All but the first have defaults and names.
    limits: Sequence[str],
    *,
    name: str = UNNAMED,
    baseline: str | None = None,
    label: str | None = None,
    confidence: float = 0.95,
    any_load: bool = False,
) -> Gate:
    """Read the limits of a gate.

    Raises
    ------
    InvalidRequestError
        If there is none, one is none, or one needs a baseline that is not named.

    """
    if not limits:
        raise InvalidRequestError(f"{_about(name)}there are no limits: add some, {_MEANT}")
    if not 0 < confidence < 1:
        raise InvalidRequestError(
            f"{_about(name)}a confidence is between 0 and 100 %, not {100 * confidence:g}"
        )
    rules = tuple(dict.fromkeys(parse_rule(one) for one in limits))
    needs = next((one for one in rules if not isinstance(one, Limit)), None)
    if needs is not None and baseline is None:
        raise InvalidRequestError(
            f"{_about(name)}'{needs}' is a limit on a change, which needs a baseline: name a "
            "run, an experiment or a baseline of the store"
        )
    return Gate(name, rules, baseline, label, confidence, any_load)


def _about(name: str) -> str:
    return "" if name == UNNAMED else f"gate {name}: "


def parse_rule(text: str) -> Rule:
    """Read one limit: ``p99<2ms``, ``iops>-5%``, or a figure alone.

    Raises
    ------
    InvalidRequestError
        If it is none of these; or it would let only pass what got worse.

    """
    if text.strip() in METRICS:
        return NoWorse(text.strip())
    found = read_limit(text, _MEANT)
    if found.unit != PERCENT:
        return parse_limit(text)
    is_least = found.sign.startswith(">")
    if is_least != higher_is_better(found.metric):
        other = ">" if found.sign.startswith("<") else "<"
        raise InvalidRequestError(
            f"{text!r} would be kept only by what got worse: a gate says what has to hold, as "
            f"'{found.metric}{other}{float(found.number):+g}%'"
        )
    condition = FailCondition(found.metric, not is_least, change_of(found))
    return ChangeLimit(found.metric, condition, found.text)
