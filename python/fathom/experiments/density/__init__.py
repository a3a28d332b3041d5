"""How many databases a machine carries: N of them loaded at once, for rising N."""

from fathom.experiments.density.experiment import Density, run_density
from fathom.experiments.density.outcome import DensityStep, outcome_of, sentences_of
from fathom.experiments.density.plan import DensityPlan, plan_density
from fathom.experiments.density.runners import runner_of

__all__ = [
    "Density",
    "DensityPlan",
    "DensityStep",
    "outcome_of",
    "plan_density",
    "run_density",
    "runner_of",
    "sentences_of",
]
