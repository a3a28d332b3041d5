"""LUNs: from an empty controller to a target that can be measured, step by step and back.

A provider makes steps of a request; ``carried`` passes over those that are done already, does the
others in order, and undoes its own if one fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.luns.connect import connect_kernel, refuse_silent, writable_name
    from fathom.luns.provider import Provider, provider_of
    from fathom.luns.request import FIELDS, LunRequest, chap_secret, request_from
    from fathom.luns.steps import (
        LunError,
        LunStep,
        StepDone,
        carried,
        is_new,
        planned,
        taken_away,
    )

__all__ = [
    "FIELDS",
    "LunError",
    "LunRequest",
    "LunStep",
    "Provider",
    "StepDone",
    "carried",
    "chap_secret",
    "connect_kernel",
    "is_new",
    "planned",
    "provider_of",
    "refuse_silent",
    "request_from",
    "taken_away",
    "writable_name",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
