"""What DiskSpd writes into its XML as it is, and what makes XML of it."""

from __future__ import annotations

import re

__all__ = ["well_formed"]

# The name of an unknown power scheme stands in an attribute, and names of files between tags.
_BRACKETS = re.compile(r'="<([^"<>]*)>"')
# Sections of CDATA are to be taken as they are.
_AMPERSAND = re.compile(r"(<!\[CDATA\[.*?\]\]>)|&(?![A-Za-z]\w{0,30};|#\w{1,8};)", re.DOTALL)


def well_formed(text: str) -> str:
    """Return a result in which what DiskSpd 2.2 does not escape is escaped."""
    return _BRACKETS.sub(r'="&lt;\1&gt;"', _AMPERSAND.sub(lambda found: found[1] or "&amp;", text))
