"""Experiments: several runs with one question, a module or a package per verb.

``workload`` runs the steps of a workload, ``repeat``, ``sweep``, ``tune``, ``compare``, ``assess``
and ``prepare`` are the verbs of these names.
"""

from fathom.experiments.workload import WorkloadRuns, run_workload

__all__ = ["WorkloadRuns", "run_workload"]
