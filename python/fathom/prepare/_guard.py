"""Files that somebody else has made, which are not written over as a whole.

The engine refuses recognisable data. A test may be meant to write to a file with any other data, as
DiskSpd does; writing all of it hardly is, so this asks for more: a mark of Fathom's.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fathom._errors import RefusedError

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.prepare._target import TargetFacts

__all__ = ["PREPARED", "refuse_foreign"]

PREPARED = "user.fathom.prepared"
# The engine's own mark, on files that ``-c`` makes (core/plan/prepare/mark.rs).
_MADE = "user.fathom.made"


def refuse_foreign(target: TargetFacts, permission: Permission) -> None:
    """Refuse a file with data that Fathom has not made; devices are the engine's matter.

    Raises
    ------
    RefusedError
        If nothing says that its data may be lost.

    """
    if target.is_device or permission.overwrite:
        return
    if any(_has_attribute(target.path, name) for name in (_MADE, PREPARED)):
        return
    raise RefusedError(
        f"{target.path}: the file has data that Fathom has not made, and all of it would be "
        "written over; name another file, give --overwrite if its data may be lost, or fill only "
        "what is empty: fathom prepare fill --only-missing"
    )


def _has_attribute(path: str, name: str) -> bool:
    try:
        return bool(os.getxattr(path, name))
    except OSError:
        return False
