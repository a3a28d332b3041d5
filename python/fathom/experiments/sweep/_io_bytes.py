"""How many bytes an I/O of a cell has that a sweep did not measure.

What the cell's own load asks, if all its I/Os have one size. Where sizes are mixed, it is a surface
through the logarithms of what the I/Os of measured cells had.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from fathom.engine import load_of
from fathom.errors import InvalidRequestError
from fathom.stats import fit_surface

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._request_parts import Target
    from fathom.stats.floats import FloatArray

__all__ = ["asked_io_bytes", "estimate_io_bytes"]


def asked_io_bytes(arguments: Sequence[str]) -> int | None:
    """Return the bytes of every I/O of a run's first time span, of which its figures are.

    None where sizes are mixed, or the arguments cannot be read any more.
    """
    try:
        with warnings.catch_warnings():
            # What is doubtful about the load was reported when it was measured.
            warnings.simplefilter("ignore")
            spans = load_of(arguments).profile.time_spans
    except InvalidRequestError:
        return None
    sizes = {size for target in spans[0].targets for size in _sizes(target)}
    return sizes.pop() if len(sizes) == 1 else None


def _sizes(target: Target) -> set[int]:
    """Return the sizes that I/Os of a target may have."""
    more = target.extensions
    mixes = (more.block_mix, more.read_block_mix, more.write_block_mix)
    patterns = (more.read_pattern, more.write_pattern)
    return {
        target.block_bytes,
        *(share.block_bytes for mix in mixes for share in mix),
        *(one.block_bytes for one in patterns if one is not None and one.block_bytes is not None),
    }


def estimate_io_bytes(
    features: FloatArray, measured: Mapping[int, float], cells: Sequence[int]
) -> dict[int, float]:
    """Return the mean bytes of an I/O of cells, by those of measured cells of the same slice.

    ``features`` has one row for each cell of the sweep.
    """
    if not cells:
        return {}
    heights = [float(np.log(value)) for value in measured.values()]
    middles, _ = fit_surface(features[[*measured]], heights).predict(features[[*cells]])
    return dict(zip(cells, np.exp(middles).tolist(), strict=True))
