"""Sweeping: all combinations of parameters, or as many of them as show where the others lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.sweep.experiment import resume_sweep, sweep
    from fathom.experiments.sweep.plan import plan_sweep

__all__ = [
    "plan_sweep",
    "resume_sweep",
    "sweep",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
