"""What a spreadsheet takes for a formula."""

from __future__ import annotations

__all__ = ["no_formula"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def no_formula(value: object) -> object:
    """Return what no spreadsheet takes for a formula when it opens the file.

    A label such as ``=cmd|...`` would be run by some (https://owasp.org/www-community/attacks/
    CSV_Injection): it gets the apostrophe with which a text is typed there. Numbers stay.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
