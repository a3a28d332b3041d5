"""Numbers in texts from outside."""

from __future__ import annotations

import re

__all__ = ["MOST_WHOLE", "whole_number"]

MOST_WHOLE = (1 << 63) - 1
"""The greatest number that columns of a store hold."""

# str.isdigit() is true of digits that int() refuses, such as the superscript two, and int() refuses
# numbers of thousands of digits.
_DIGITS = re.compile(r"0*([0-9]{1,19})")


def whole_number(text: str) -> int | None:
    """Return what plain digits say; None of another text, and of more than 64 bits hold."""
    found = _DIGITS.fullmatch(text.strip())
    number = int(found[1]) if found else MOST_WHOLE + 1
    return number if number <= MOST_WHOLE else None
