"""The target had several sizes: what was measured on one says nothing of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures
from fathom.units import counted, listed, size_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    sizes: dict[int, dict[int, Observed]] = {}
    for one in (*evidence.observed, *evidence.silent):
        if (size := _size_of(one)) is not None:
            sizes.setdefault(size, {}).setdefault(one.run_key, one)
    if len(sizes) > 1:
        # Most runs had it as it was meant; of as many, the first did.
        meant = max(sizes, key=lambda size: len(sizes[size]))
        others = [one for size in sizes if size != meant for one in sizes[size].values()]
        yield Noticed(
            f"{evidence.target} had {_told(sizes)}; a load on a smaller range finds more of it in "
            "caches.",
            "Find out who resized it, and measure all of it again at one size.",
            "certain",
            others,
            len(others),
        )


def _size_of(run: Observed) -> int | None:
    """Return what size a run found; None where each run makes its target, or hosts have their own.

    A run that found none did not reach it.
    """
    (asked, *_others) = run.result.raw["request"]["profile"]["time_spans"][0]["targets"]
    if asked["create_bytes"] is not None or host_figures(run.result):
        return None
    found: Sequence[int | None] = [
        one["size_bytes"]
        for one in run.result.raw["time_spans"][0]["targets"]
        if one["path"] == asked["path"]
    ]
    return (found[0] or None) if found else None


def _told(sizes: dict[int, dict[int, Observed]]) -> str:
    words = [size_words(size) for size in sizes]
    if len({*words}) < len(words):
        words = [f"{size:,} bytes" for size in sizes]
    return listed(
        [
            f"{word} in {counted(len(runs), 'run')}"
            for word, runs in zip(words, sizes.values(), strict=True)
        ]
    )


RULE = Rule(
    "resized",
    "The target changed its size",
    "Fathom: the sizes that its runs found",
    _look,
    # Whatever explains the figures of a run, they are of a target of its size.
    explained_by=NOTHING,
    fires_when="Runs that do not make their target found it in several sizes.",
    place=78,
)
