"""The seam of who offers LUNs: steps, the address, and what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fathom.luns.lio import Lio
from fathom.luns.ontap import Ontap
from fathom.luns.tgt import Tgt

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.luns.request import LunRequest
    from fathom.luns.steps import LunStep

__all__ = ["Provider", "provider_of"]


class Provider(Protocol):
    """Whoever offers LUNs."""

    request: LunRequest

    def steps(self, *, is_removal: bool = False) -> list[LunStep]:
        """Return what is to be there, in the order in which it is made.

        ``is_removal`` says that it is to go: what a LUN holds is then no reason to refuse.
        """

    def address(self) -> str:
        """Return the address to measure."""

    def listed(self) -> list[dict[str, str]]:
        """Return what there is, one row for each LUN."""


def provider_of(request: LunRequest, permission: Permission) -> Provider:
    """Return who offers the LUN of a request.

    Raises
    ------
    InvalidRequestError, LunError
        If something is missing that it needs.

    """
    if request.on == "ontap":
        return Ontap(request)
    return (Tgt if request.on == "tgt" else Lio)(request, permission)
