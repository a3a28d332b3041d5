"""The target had several sizes: what was measured on one says nothing of the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures
from fathom.units import counted, listed, size_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fathom.findings.observed import TargetEvidence
    from fathom.result import Result

__all__ = ["RULE", "of_another_size", "size_found", "sizes_told"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    runs = {one.run_key: one for one in (*evidence.observed, *evidence.silent)}
    found = {key: size_found(one.result) for key, one in runs.items()}
    sizes = {key: size for key, size in found.items() if size is not None}
    others = of_another_size(sizes)
    if others:
        yield Noticed(
            sizes_told(evidence.target, sizes),
            "Find out who resized it, and measure all of it again at one size.",
            "certain",
            [runs[key] for key in others],
            len(others),
        )


def size_found(result: Result) -> int | None:
    """Return what size in bytes a run found its first target to have.

    None where the run makes it, where each host has its own, and where it was not reached.
    """
    asked = result.raw["request"]["profile"]["time_spans"][0]["targets"][:1]
    if not asked or asked[0]["create_bytes"] is not None or host_figures(result):
        return None
    for one in (target for span in result.raw["time_spans"][:1] for target in span["targets"]):
        if one["path"] == asked[0]["path"]:
            return one["size_bytes"] or None
    return None


def of_another_size(sizes: Mapping[int, int]) -> list[int]:
    """Return the runs that found another size than most of them; than the first, of as many."""
    counts = Counter(sizes.values())
    meant = max(counts, key=counts.__getitem__, default=0)
    return [run for run, size in sizes.items() if size != meant]


def sizes_told(target: str, sizes: Mapping[int, int]) -> str:
    """Say how many runs found which size, by runs."""
    counts = Counter(sizes.values())
    words = [size_words(size) for size in counts]
    if len({*words}) < len(words):
        words = [f"{size:,} bytes" for size in counts]
    told = listed(
        [
            f"{word} in {counted(runs, 'run')}"
            for word, runs in zip(words, counts.values(), strict=True)
        ]
    )
    return f"{target} had {told}; a load on a smaller range finds more of it in caches."


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
