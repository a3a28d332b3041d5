"""A load in a few words, as lists of runs have it, in the terminal and on pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.units import block_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["load_words"]


def load_words(columns: Mapping[str, object]) -> str:
    """Return a load in a few words, such as ``8K rand w30 t2 o8``, as far as it is known.

    Of several time spans it is the first, of which the figures beside it are.
    """
    words: dict[str, Callable[[Any], str]] = {
        "block_bytes": block_words,
        "random_percent": lambda share: {0: "seq", 100: "rand"}.get(share, f"rand{share:g}"),
        "write_percent": "w{:g}".format,
        "thread_count": "t{}".format,
        "outstanding_per_thread": "o{}".format,
    }
    known = [(look, columns[name]) for name, look in words.items()]
    load = " ".join(look(value) for look, value in known if value is not None)
    targets = columns.get("target_count")
    if isinstance(targets, int) and targets > 1:
        load += f", {targets} targets"
    spans = columns.get("time_span_count")
    return f"{load} (1 of {spans} time spans)" if isinstance(spans, int) and spans > 1 else load
