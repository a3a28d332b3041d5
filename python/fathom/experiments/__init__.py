"""Experiments: several runs with one question, a module or a package per verb.

``workload`` runs the steps of a workload, ``repeat``, ``sweep``, ``tune``, ``compare``, ``assess``
and ``prepare`` are the verbs of these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.axes import Grid, parse_axes, parse_counts
    from fathom.experiments.ending import end_noted
    from fathom.experiments.noise_words import shown_figure, shown_unit
    from fathom.experiments.repeat import (
        RepeatPolicy,
        asked_run_s,
        begin_repeat,
        ends_by_amount,
        resume_repeat,
    )
    from fathom.experiments.scale import resume_scale
    from fathom.experiments.scale import scale as measure_scale
    from fathom.experiments.scale import sentences as scale_sentences
    from fathom.experiments.workload import WorkloadRuns, run_workload

__all__ = [
    "Grid",
    "RepeatPolicy",
    "WorkloadRuns",
    "asked_run_s",
    "begin_repeat",
    "end_noted",
    "ends_by_amount",
    "measure_scale",
    "parse_axes",
    "parse_counts",
    "resume_repeat",
    "resume_scale",
    "run_workload",
    "scale_sentences",
    "shown_figure",
    "shown_unit",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
