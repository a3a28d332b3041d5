"""Experiments: several runs with one question. One file per verb."""

from fathom.experiments._measure import Measured, measure
from fathom.experiments._workload import WorkloadRuns, run_workload

__all__ = ["Measured", "WorkloadRuns", "measure", "run_workload"]
