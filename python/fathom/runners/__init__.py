"""What runs a load for an experiment: the engine in this process (``native``), or its stand-in.

``Runner`` is the seam: arguments in, figures out. Other programs stand behind it, too
(``fathom.tools``), and the simulated devices of the tests.
"""

from fathom.runners.native import OWN_TOOL, NativeRunner, stored_figures
from fathom.runners.runner import Figures, Runner, RunnerOfHosts, RunOutcome

__all__ = [
    "OWN_TOOL",
    "Figures",
    "NativeRunner",
    "RunOutcome",
    "Runner",
    "RunnerOfHosts",
    "stored_figures",
]
