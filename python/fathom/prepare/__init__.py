"""Getting a target ready to be measured.

``look`` tells what a target holds, and whether a read test on it would measure the device.
"""

from __future__ import annotations

from fathom.prepare._look import Look, look, look_data
from fathom.prepare._target import TargetFacts, target_facts

__all__ = ["Look", "TargetFacts", "look", "look_data", "target_facts"]
