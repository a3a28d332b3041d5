"""No room left: what a full file system or a thin volume refused to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.units import NS_PER_S, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom._faults import Fault
    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE", "is_room_alone"]

_FULL = frozenset({"ENOSPC", "EDQUOT"})


def _faults(run: Observed) -> list[Fault]:
    return [one for span in run.result.time_spans for one in span.faults if one.kind != "short"]


def is_room_alone(run: Observed) -> bool:
    """Whether I/Os of a run failed, and all of them as there was no room."""
    kinds = {one.kind for one in _faults(run)}
    return bool(kinds) and kinds <= _FULL


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for one in (*evidence.observed, *evidence.silent):
        count = sum(f.ios + f.outside_ios for f in _faults(one) if f.kind in _FULL)
        if count:
            yield Noticed(
                f"{evidence.target}: {counted(count, 'I/O')} found no room to write (ENOSPC)"
                f"{_cut_off(one)}.",
                "Make room where the target lies (a full file system or a thin volume), write its "
                "whole range once (-w100 -Zr), and run it again; compare these figures with no "
                "other run.",
                "certain",
                (one,),
                count,
            )


def _cut_off(run: Observed) -> str:
    """Say what the figures of the run are, then."""
    span = run.result.time_spans[0]
    if span.complete:
        return ", and the figures are those of the other I/Os"
    if not span.total.ios:
        return ", and the run ended before anything was measured"
    return f", which ended the run after {span.measured_ns / NS_PER_S:.2f} s of measured time"


RULE = Rule(
    "no-room",
    "There was no room left to write",
    "write(2): ENOSPC, EDQUOT",
    _look,
    explained_by=NOTHING,
    fires_when="A write failed as the file system, a quota or a thin volume was full.",
    place=6,
)
