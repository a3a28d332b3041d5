"""What runs a measurement for an experiment: the engine in this process, or what stands for it."""

from fathom.runners._native import NativeRunner, stored_figures
from fathom.runners._runner import Figures, Runner, RunOutcome

__all__ = ["Figures", "NativeRunner", "RunOutcome", "Runner", "stored_figures"]
