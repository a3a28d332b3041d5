"""How p values are written: no test gives a probability of 0."""

from __future__ import annotations

__all__ = ["LEAST_P", "p_equation", "p_text"]

LEAST_P = 0.0001
"""What is less is not told more exactly."""


def p_text(p_value: float | None) -> str:
    """Return a p value for a table: ``0.0312``, ``< 0.0001``, or ``-`` if there is none."""
    if p_value is None or p_value != p_value:  # noqa: PLR0124 - NaN.
        return "-"
    return f"< {LEAST_P:.4f}" if p_value < LEAST_P else f"{p_value:.4f}"


def p_equation(p_value: float | None) -> str:
    """Return what stands behind the letter: ``= 0.0312`` or ``< 0.0001``."""
    text = p_text(p_value)
    return text if text.startswith("<") else f"= {text}"
