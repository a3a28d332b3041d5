"""Assessing storage: what it is good for, in words, with the numbers and the findings.

>>> from fathom.assess import EFFORTS, assess  # doctest: +SKIP
>>> assess(store, ["/mnt/new"], EFFORTS["quick"]).verdicts[0].sentences  # doctest: +SKIP
"""

from fathom.assess._assess import Assessment, CellDone, assess
from fathom.assess._plan import EFFORTS, Cell, Effort, plan_cells
from fathom.assess._target import AssessedTarget, TargetError, opened_target
from fathom.assess._verdict import Verdict, verdict_of

__all__ = [
    "EFFORTS",
    "AssessedTarget",
    "Assessment",
    "Cell",
    "CellDone",
    "Effort",
    "TargetError",
    "Verdict",
    "assess",
    "opened_target",
    "plan_cells",
    "verdict_of",
]
