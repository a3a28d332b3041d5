"""LUNs: from an empty controller to a target that can be measured, step by step and back.

A provider makes steps of a request; ``carried`` passes over those that are done already, does the
others in order, and undoes its own if one fails.
"""

from fathom.luns.request import FIELDS, LunRequest, request_from
from fathom.luns.steps import LunError, LunStep, StepDone, carried, planned

__all__ = [
    "FIELDS",
    "LunError",
    "LunRequest",
    "LunStep",
    "StepDone",
    "carried",
    "planned",
    "request_from",
]
