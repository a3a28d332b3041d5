"""Tuning: the threads and the queue depth of the knee, or under a limit of latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.tune.experiment import resume_tune, tune
    from fathom.experiments.tune.knee_search import Goal
    from fathom.experiments.tune.plan import plan_tune

__all__ = [
    "Goal",
    "plan_tune",
    "resume_tune",
    "tune",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
