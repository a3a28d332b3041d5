"""No room left: what a full file system or a thin volume refused to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom._faults import Fault
    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE", "is_room_alone"]

_ROOM = {
    "ENOSPC": "make room where the target lies (a full file system or a thin volume)",
    "EDQUOT": "raise the quota by which the file system refused to write, or remove what counts "
    "against it",
}
"""What to do about each kind of error by which a write finds no room."""
_FULL = frozenset(_ROOM)
_ENDED = "which ended the run"
_AFTER = (
    "write its whole range once (-w100 -Zr), and run it again; compare these figures with no other "
    "run."
)


def _faults(run: Observed) -> list[Fault]:
    return [one for span in run.result.time_spans for one in span.faults if one.kind != "short"]


def is_room_alone(run: Observed) -> bool:
    """Whether I/Os of a run failed, and all of them as there was no room."""
    kinds = {one.kind for one in _faults(run)}
    return bool(kinds) and kinds <= _FULL


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for one in (*evidence.observed, *evidence.silent):
        refused = [fault for fault in _faults(one) if fault.kind in _FULL]
        count = sum(fault.ios + fault.outside_ios for fault in refused)
        if count:
            kinds = sorted({fault.kind for fault in refused})
            yield Noticed(
                f"{evidence.target}: {count:,} I/O{'' if count == 1 else 's'} found no room to "
                f"write ({' and '.join(kinds)}){_cut_off(one)}.",
                _remedy(kinds),
                "certain",
                (one,),
                count,
            )


def _remedy(kinds: list[str]) -> str:
    room = "; ".join(_ROOM[kind] for kind in kinds)
    return f"{room[0].upper()}{room[1:]}; {_AFTER}"


def _cut_off(run: Observed) -> str:
    """Say what the figures of the run are, then."""
    span = run.result.time_spans[0]
    if not span.total.ios:
        before = f", {_ENDED} before a read or write completed"
        return before if _was_ended(run) else ", and no read or write completed"
    if span.complete:
        return ", and the figures are those of the other I/Os"
    ended = _ENDED if _was_ended(run) else "and the run ended"
    return f", {ended} after {span.measured_ns / NS_PER_S:.2f} s of measured time"


def _was_ended(run: Observed) -> bool:
    """Whether it was the lack of room that ended a run: a run that goes on has no failure."""
    return any(one.get("code") in _FULL for one in run.result.raw.get("failures", ()))


RULE = Rule(
    "no-room",
    "There was no room left to write",
    "write(2): ENOSPC, EDQUOT",
    _look,
    explained_by=NOTHING,
    fires_when="A write failed as the file system, a quota or a thin volume was full.",
    place=6,
)
