"""How many databases a machine carries: N of them loaded at once, for rising N."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.density.experiment import (
        Density,
        resume_density,
        resumed_plan,
        run_density,
    )
    from fathom.experiments.density.outcome import DensityStep, outcome_of, sentences_of
    from fathom.experiments.density.plan import DensityPlan, plan_density
    from fathom.experiments.density.runners import runner_of

__all__ = [
    "Density",
    "DensityPlan",
    "DensityStep",
    "outcome_of",
    "plan_density",
    "resume_density",
    "resumed_plan",
    "run_density",
    "runner_of",
    "sentences_of",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
