"""What a target holds, and whether a read test on it would measure the device."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from fathom.experiments.prepare._extents import Layout, file_layout
from fathom.experiments.prepare._survey import SAMPLES, Interval, Survey, survey
from fathom.experiments.prepare.target import described_error, target_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.experiments.prepare.target import TargetFacts

__all__ = ["Look", "look", "look_data", "target_layout"]

Verdict = Literal["yes", "doubtful", "partly", "no"]
# Less than this of a target changes no mean that one could tell from chance.
_NEGLIGIBLE = 0.01
# Data that compress by less are what encrypted or packed data are, but for headers.
_INCOMPRESSIBLE = 1.05
_PERCENT = 100
_HOLES = "The file system answers reads of what was never written by itself."
_ZEROS = (
    "SSDs, arrays and thin volumes answer reads of blocks that were discarded or never written, "
    "which look like zeros, without their medium, and those that compress hardly store zeros."
)


@dataclass(frozen=True)
class Look:
    """What a target holds.

    Attributes
    ----------
    target
        What it is.
    layout
        Holes and unwritten extents of a file; of a device all counts as written.
    survey
        What the written part holds; None if there is none.
    empty_share
        Share of the target that is hole, unwritten or zero, with its interval.
    reads_measure_device
        Whether a read test on it would measure the device: ``yes``; ``doubtful``, as there are
        zeros, which some devices answer without their medium; ``partly`` or ``no``, as the file
        system answers for what was never written.
    sentences
        The same in words, and what to do.

    """

    target: TargetFacts
    layout: Layout
    survey: Survey | None
    empty_share: Interval
    reads_measure_device: Verdict
    sentences: list[str]


def look(
    path: str | os.PathLike[str],
    *,
    samples: int = SAMPLES,
    whole: bool = False,
    seed: int = 0,
    on_read: Callable[[int], None] = lambda _done: None,
) -> Look:
    """Look at a target; nothing is written, but dirty pages of a file are written back.

    Parameters
    ----------
    path
        A regular file or a block device.
    samples
        Windows of 64 KiB that are read of a target of more than 256 MiB of data.
    whole
        Read all of it instead.
    seed
        Of the places of the samples.
    on_read
        Gets the number of bytes that have been read.

    Raises
    ------
    InvalidRequestError
        If there is no such target, or it is neither a file nor a block device.
    FathomError
        If it cannot be read.

    """
    target = target_facts(path)
    try:
        layout = target_layout(target)
        found = None
        if layout.written:
            found = survey(
                target.path,
                layout.written,
                samples=samples,
                whole=whole,
                seed=seed,
                on_read=on_read,
            )
    except OSError as error:
        raise described_error(target.path, "it cannot be read", error) from error
    unbacked = layout.hole_bytes + layout.unwritten_bytes
    size = max(target.size_bytes, 1)
    written = (size - unbacked) / size if target.size_bytes else 0.0
    zero = found.zero_share if found else Interval(0.0, 0.0, 0.0)
    parts = [unbacked / size + written * one for one in (zero.value, zero.low, zero.high)]
    empty = Interval(*parts)
    verdict = _verdict(target, unbacked / size, empty)
    sentences = [*_held(target, layout, found), *_meaning(target, found, empty, verdict)]
    return Look(target, layout, found, empty, verdict, sentences)


def look_data(found: Look) -> dict[str, object]:
    """Return a look as JSON; of the layout only the sums, for a file may have many extents."""
    layout = found.layout
    sums = {
        "hole_bytes": layout.hole_bytes,
        "unwritten_bytes": layout.unwritten_bytes,
        "written_bytes": sum(end - start for start, end in layout.written),
        "encoded_bytes": layout.encoded_bytes,
        "shared_bytes": layout.shared_bytes,
        "source": layout.source,
    }
    return {**asdict(found), "layout": sums}


def target_layout(target: TargetFacts) -> Layout:
    """Return where a target has data; nothing tells it of a device, so all of it counts.

    Raises
    ------
    OSError
        If it cannot be read.

    """
    if target.is_device:
        return Layout([(0, target.size_bytes)] if target.size_bytes else [], 0, source="none")
    descriptor = os.open(target.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return file_layout(descriptor, target.size_bytes)
    finally:
        os.close(descriptor)


def _verdict(target: TargetFacts, unbacked_share: float, empty: Interval) -> Verdict:
    if not target.size_bytes or target.is_in_memory or unbacked_share > 1 - _NEGLIGIBLE:
        return "no"
    if unbacked_share > _NEGLIGIBLE:
        return "partly"
    return "doubtful" if empty.value > _NEGLIGIBLE else "yes"


def _held(target: TargetFacts, layout: Layout, found: Survey | None) -> list[str]:
    sentences = []
    size = max(target.size_bytes, 1)
    for count, words in (
        (layout.hole_bytes, "holes (sparse: no blocks of the device belong to them)"),
        (layout.unwritten_bytes, "allocated but never written"),
        (layout.encoded_bytes, "compressed or encrypted by the file system"),
        (layout.shared_bytes, "shared with other files (clones or snapshots)"),
    ):
        if count:
            sentences.append(f"{_percent(count / size)} of it are {words}.")
    if layout.source == "none" and not target.is_device and target.size_bytes:
        sentences.append("The file system does not tell holes from data.")
    if found is None:
        return sentences
    how = (
        "read whole"
        if found.is_whole
        else f"{found.windows} samples of 64 KiB at random places, intervals at 95 %"
    )
    what = "data" if target.is_device else "written part"
    sentences.append(
        f"Of the {what} ({how}) {_between(found.zero_share)} is zeros. {_reduction(found)}"
    )
    return sentences


def _reduction(found: Survey) -> str:
    if found.compress_ratio is None:
        return "There is nothing else."
    one = found.compress_ratio
    between = "" if one.low == one.high else f" ({one.low:.2f} to {one.high:.2f})"
    words = f"The rest compresses {one.value:.2f} to 1{between}"
    if found.dedupe_ratio is not None:
        return f"{words} and deduplicates {found.dedupe_ratio:.2f} to 1."
    return (
        f"{words}; {_percent(found.repeated_share)} of the sampled blocks repeat another sample, "
        "which is the least that repeats (--whole reads everything and tells exactly)."
    )


def _meaning(
    target: TargetFacts, found: Survey | None, empty: Interval, verdict: Verdict
) -> list[str]:
    if not target.size_bytes:
        return [f"It is empty: there is nothing to read. Fill it: {_remedy(target)}."]
    if target.is_in_memory:
        return [f"A read test would measure memory: {target.file_system} keeps its files there."]
    share = _between(empty)
    words = {
        "yes": "A read test would measure the device.",
        "doubtful": f"A read test may not measure the device: {share} of it are zeros. {_ZEROS} "
        f"Fill it first: {_remedy(target)}.",
        "partly": f"A read test would measure the device only in part: {share} of it is empty. "
        f"{_HOLES} Fill it first: {_remedy(target)}.",
        "no": f"A read test would not measure the device: {share} of it is empty. {_HOLES} Fill "
        f"it first: {_remedy(target)}.",
    }
    sentences = [words[verdict]]
    reduced = _reduced_words(found)
    return [*sentences, reduced] if reduced else sentences


def _reduced_words(found: Survey | None) -> str | None:
    if found is None or found.compress_ratio is None:
        return None
    deduplicates = (found.dedupe_ratio or 1) > _INCOMPRESSIBLE or (
        found.dedupe_ratio is None and found.repeated_share > _NEGLIGIBLE
    )
    if found.compress_ratio.low <= _INCOMPRESSIBLE and not deduplicates:
        return None
    return (
        "A device or file system that compresses or deduplicates moves less than a test believes "
        "with such data; if that is not what is to be measured, use data that do neither."
    )


def _remedy(target: TargetFacts) -> str:
    size = "" if target.size_bytes else " --size 10G"
    missing = " --only-missing" if target.size_bytes else ""
    return f"fathom prepare fill{missing}{size} {target.path}"


def _between(one: Interval) -> str:
    if one.low == one.high:
        return _percent(one.value)
    return f"{_percent(one.value)} ({_percent(one.low)} to {_percent(one.high)})"


def _percent(share: float) -> str:
    if 0 < share < _NEGLIGIBLE / 10 or 1 - _NEGLIGIBLE / 10 < share < 1:
        return f"{_PERCENT * share:.3f} %"
    return f"{_PERCENT * share:.1f} %"
