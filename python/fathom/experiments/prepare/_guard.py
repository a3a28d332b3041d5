"""Files that somebody else has made, which are not written over: asked before a plan is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.engine import explain
from fathom.errors import RefusedError

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.experiments.prepare.target import TargetFacts

__all__ = ["refuse_foreign"]


def refuse_foreign(target: TargetFacts, permission: Permission) -> None:
    """Refuse a file that the engine would not write; devices are left to the run itself.

    Raises
    ------
    RefusedError
        If nothing says that its data may be lost.

    """
    if target.is_device or permission.overwrite:
        return
    for found in explain(["-w100", "-d1", "-W0", target.path])["targets"]:
        verdict = found["verdict"]
        if verdict["is_refused"]:
            raise RefusedError(f"{target.path}: {verdict['reason']}; {verdict['remedy']}")
