"""What the statistics work on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["FloatArray", "Values", "as_values"]

FloatArray = npt.NDArray[np.float64]
Values = npt.ArrayLike


def as_values(values: Values, *, least: int = 1) -> FloatArray:
    """Return an array whose last axis runs over the values.

    Raises
    ------
    ValueError
        If there are fewer than ``least``, or one of them is not finite.

    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] < least:
        count = 0 if array.ndim == 0 else array.shape[-1]
        raise ValueError(f"at least {least} values are needed, not {count}")
    if not np.isfinite(array).all():
        raise ValueError("the values hold an infinity or no number")
    return array
