"""From a load to DiskSpd's XML profile, which the engine writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom import _fathom
from fathom.tools.diskspd.option_words import option_words
from fathom.tools.notes import Note, Notes

if TYPE_CHECKING:
    from fathom.tools.load import Load

__all__ = ["to_xml"]


def to_xml(load: Load) -> tuple[str, list[Note]]:
    """Return the profile as XML, and what stands beside a profile."""
    notes = Notes()
    for setting in (*option_words(load.request), *load.for_one_run):
        notes.load(setting, "is no part of a profile: give it beside -X")
    return _fathom.profile_xml_of([*load.arguments]), notes.found
