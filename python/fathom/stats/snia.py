"""What the SNIA's rule of steady state allows, for all who judge by it or say so (`steady`).

It is apart from what judges, so that who only says it loads no NumPy.
"""

from __future__ import annotations

__all__ = ["FIT_PERCENT", "RANGE_PERCENT", "ROUND_LIMIT", "WINDOW_ROUNDS"]

WINDOW_ROUNDS = 5
ROUND_LIMIT = 25
RANGE_PERCENT = 20
"""What the greatest less the least value of a window may be, in percent of its mean."""
FIT_PERCENT = 10
"""What the line of best fit may rise or fall over a window, in percent of its mean."""
