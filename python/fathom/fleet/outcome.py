"""One result of what hosts measured together: checked, put on one clock, and merged exactly."""

from __future__ import annotations

import gc
import json
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fathom.errors import FathomError
from fathom.hosts import together_ns
from fathom.merging import check_text, merged_text
from fathom.result import Result
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom._request_parts import Target
    from fathom._request_parts import TimeSpan as AskedSpan
    from fathom.fleet.clocks import ClockOffset
    from fathom.request import Request
    from fathom.result import TimeSpan as MeasuredSpan

__all__ = ["HostPart", "Measurement", "checked_part", "merged"]

# A load ends a little later than it was asked to; one that lasted longer was another.
_LONGER = 1.5
# Hosts that began or ended further apart did not measure together, and are not added; of less, a
# sentence and a finding tell. A busy machine begins late whatever the length of the run.
_APART = 0.1
_APART_NS = 500_000_000
_SLACK_NS = 30_000_000_000
# What is in flight at the end of the measured time may have its latency counted, and not itself.
_IN_FLIGHT = 1 << 16


@dataclass(frozen=True)
class Measurement:
    """What a host measured: its result as it sent it, and the instants by its own clock.

    ``is_whole`` says whether it ended as was requested, and not before.
    """

    text: str = field(repr=False)
    began_unix_ns: int | None
    longest_ns: int
    is_whole: bool = True


@dataclass(frozen=True)
class HostPart:
    """A host of a run, and what it measured; None if it was lost before it could send that."""

    name: str
    index: int
    version: str
    kernel: str
    clock: ClockOffset
    moved_ns: int = 0
    measured: Measurement | None = None
    failures: tuple[str, ...] = ()
    lost: str | None = None
    asked: Request | None = field(default=None, repr=False)

    def began_ns(self) -> int | None:
        """Return when its load began, by our clock."""
        began_ns = None if self.measured is None else self.measured.began_unix_ns
        return None if began_ns is None else self.clock.here_ns(began_ns)


def checked_part(text: str, asked: Request) -> Measurement:
    """Return what a host measured, of the result that it sent.

    Raises
    ------
    FathomError
        If it makes no sense. It comes from another machine, which may be of another version,
        broken, or lie.

    """
    try:
        result = Result.from_json(text)
        if wrong := _wrong(result, asked):
            raise FathomError(wrong)
        check_text(text)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FathomError(f"it cannot be read ({type(error).__name__}: {error})") from error
    spans = result.raw["time_spans"]
    began_ns = spans[0].get("began_unix_ns") if spans else None
    longest_ns = max((span.measured_ns for span in result.time_spans), default=1)
    is_whole = len(result.time_spans) == len(asked.profile.time_spans) and all(
        span.complete or span.failure for span in result.time_spans
    )
    return Measurement(text, began_ns, longest_ns, is_whole)


def _wrong(result: Result, asked: Request) -> str | None:
    if result.request != asked:
        return "it is of another load than was requested"
    spans = asked.profile.time_spans
    if len(result.time_spans) > len(spans):
        return "it has more time spans than were requested"
    pairs = zip(result.time_spans, spans, strict=False)
    return next(filter(None, (_nonsense(*pair) for pair in pairs)), None)


def _nonsense(told: MeasuredSpan, wanted: AskedSpan) -> str | None:
    if not 0 <= told.measured_ns <= wanted.duration_s * NS_PER_S * _LONGER + _SLACK_NS:
        return f"it measured for {told.measured_ns / NS_PER_S:.0f} s"
    largest = max(map(_largest_block, wanted.targets), default=0)
    for one in (told.read, told.write):
        latencies = 0 if one.latency is None else one.latency.count
        if min(one.ios, one.bytes, one.errors) < 0 or latencies > one.ios + one.errors + _IN_FLIGHT:
            return f"it has {one.ios} I/Os, and latencies of {latencies}"
        if not bool(one.ios) <= one.bytes <= one.ios * largest:
            return f"{one.ios} I/Os have no {one.bytes} bytes"
    return None


def _largest_block(target: Target) -> int:
    more = target.extensions
    mixes = (more.block_mix, more.read_block_mix, more.write_block_mix)
    patterns = (more.read_pattern, more.write_pattern)
    own = [one.block_bytes for one in patterns if one is not None and one.block_bytes]
    return max([target.block_bytes, *own, *(one.block_bytes for mix in mixes for one in mix)])


def merged(parts: Sequence[HostPart], asked: Request, words: Sequence[str]) -> Result:
    """Return one result of all parts that have one, with a line for each host.

    Instants are by our clock. The skew of a host is how much later than the first its load began.

    Raises
    ------
    FathomError
        If they cannot be added, or there is none.

    """
    measured = [(one, one.measured) for one in parts if one.measured is not None]
    if not measured:
        lost = "; ".join(f"'{one.name}': {one.lost}" for one in parts if one.lost)
        raise FathomError(f"no host has brought a result home ({lost}): run it again")
    texts = [(told.text, one.name, one.clock.offset_ns) for one, told in measured]
    longest_ns = max(told.longest_ns for _one, told in measured)
    with _no_collection():
        whole: dict[str, Any] = json.loads(merged_text(texts, _tolerance(longest_ns)))
        return _completed(whole, parts, asked, words)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: a million objects are made, and none of them is."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _completed(
    whole: dict[str, Any], parts: Sequence[HostPart], asked: Request, words: Sequence[str]
) -> Result:
    """Add what the hosts are, and what was requested of all of them."""
    beside = _outside_overlap_ns(whole)
    began_ns = (part.began_ns() for part in parts)
    first_ns = min((one for one in began_ns if one is not None), default=0)
    hosts = [_host(part, first_ns, beside.get(part.name)) for part in parts]
    whole["hosts"] = sorted(hosts, key=lambda one: int(one["index"]))
    whole["command_line"] = shlex.join(["diskspd", *words])
    whole["request"] = asked.to_dict()
    whole["profile"] = whole["request"]["profile"]
    return Result.from_data(whole)


def _outside_overlap_ns(whole: dict[str, Any]) -> dict[str, int]:
    """Return for how long each host measured while not all did: of several time spans the most."""
    found: dict[str, int] = {}
    names = [part["host"]["name"] for part in whole["parts"]]
    for spans in zip(*(part["time_spans"] for part in whole["parts"]), strict=True):
        shared_ns = together_ns((one["began_unix_ns"], one["measured_ns"]) for one in spans)
        for name, one in zip(names, spans, strict=True):
            found[name] = max(found.get(name, 0), one["measured_ns"] - shared_ns)
    return found


def _tolerance(longest_ns: int) -> float:
    return max(_APART, _APART_NS / max(longest_ns, 1))


def _host(part: HostPart, first_ns: int, outside_overlap_ns: int | None) -> dict[str, Any]:
    began_ns = part.began_ns()
    return {
        "name": part.name,
        "index": part.index,
        "version": part.version,
        "kernel": part.kernel,
        "clock_offset_ns": part.clock.offset_ns,
        "clock_uncertainty_ns": part.clock.uncertainty_ns,
        "clock_moved_ns": part.moved_ns,
        "start_skew_ns": None if began_ns is None else began_ns - first_ns,
        "outside_overlap_ns": outside_overlap_ns,
        "lost": part.lost,
    }
