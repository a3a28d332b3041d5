"""What runs a measurement for an experiment: the engine in this process, or what stands for it."""

from fathom.runners._choose import OWN_RUNNER, foreign_runner, names_a_program, runner_named
from fathom.runners._foreign import ForeignRunner
from fathom.runners._native import OWN_TOOL, NativeRunner, stored_figures
from fathom.runners._runner import Figures, Runner, RunOutcome

__all__ = [
    "OWN_RUNNER",
    "OWN_TOOL",
    "Figures",
    "ForeignRunner",
    "NativeRunner",
    "RunOutcome",
    "Runner",
    "foreign_runner",
    "names_a_program",
    "runner_named",
    "stored_figures",
]
