"""How deep data from outside are nested."""

from __future__ import annotations

__all__ = ["is_nested_too_deep"]

# Results of all tools have less than 20 levels. Python reads far more, but not so many that what is
# done with them next, such as a copy, is sure to come to its end.
_MOST_LEVELS = 64


def is_nested_too_deep(document: object) -> bool:
    """Whether lists and objects stand within each other deeper than in any result."""
    level = [document]
    for _ in range(_MOST_LEVELS):
        within: list[object] = []
        for one in level:
            values = one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
            within += [value for value in values if isinstance(value, dict | list)]
        if not within:
            return False
        level = within
    return True
