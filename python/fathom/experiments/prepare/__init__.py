"""Getting a target ready to be measured: what it holds, filling it, preconditioning it.

``look`` tells what a target holds, and whether a read test on it would measure the device; ``fill``
writes data that compress and repeat as far as asked. ``precondition`` writes a target twice over
(WIPC), and ``settle`` runs a load until it is steady (WDPC), both as the SNIA's test specification
has it. What writes is planned first, as an experiment of the store, and can be taken up again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.prepare.adopting import adopt, described, seen
    from fathom.experiments.prepare.conditioning import (
        Estimate,
        estimate_settling,
        estimate_writing,
        known_rate,
        plan_precondition,
        precondition,
    )
    from fathom.experiments.prepare.filling import Asked, Filled, check_fill, fill, plan_fill
    from fathom.experiments.prepare.looking import Look, look, look_data
    from fathom.experiments.prepare.on_hosts import FleetFill, fill_on_hosts, load_on_hosts
    from fathom.experiments.prepare.served import ServedFill, fill_served, is_served_file
    from fathom.experiments.prepare.settling import Settled, plan_settling, settle
    from fathom.experiments.prepare.target import TargetFacts, target_facts
    from fathom.experiments.prepare.write import Meter, Progress, Written

__all__ = [
    "Asked",
    "Estimate",
    "Filled",
    "FleetFill",
    "Look",
    "Meter",
    "Progress",
    "ServedFill",
    "Settled",
    "TargetFacts",
    "Written",
    "adopt",
    "check_fill",
    "described",
    "estimate_settling",
    "estimate_writing",
    "fill",
    "fill_on_hosts",
    "fill_served",
    "is_served_file",
    "known_rate",
    "load_on_hosts",
    "look",
    "look_data",
    "plan_fill",
    "plan_precondition",
    "plan_settling",
    "precondition",
    "seen",
    "settle",
    "target_facts",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
