"""Test data as the engine's runs write them (``-Zr``), so that they may be written over again."""

from __future__ import annotations

import numpy as np

__all__ = ["our_data"]


def our_data(size: int, seed: int = 1) -> bytes:
    """Return data that do not compress, and that differ with the seed."""
    with np.errstate(over="ignore"):
        step = np.uint64(0xD134_2543_DE82_EF95)
        word = np.arange(-(-size // 8), dtype=np.uint64) * step + np.uint64(seed)
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
        return (word ^ (word >> np.uint64(31))).astype("<u8").tobytes()[:size]
