"""Assessing storage: what it is good for, in words, with the numbers and the findings.

>>> from fathom.assess import EFFORTS, assess  # doctest: +SKIP
>>> from fathom.runners import NativeRunner  # doctest: +SKIP
>>> runner = NativeRunner(store)  # doctest: +SKIP
>>> assess(store, runner, ["/mnt/new"], EFFORTS["quick"]).verdicts[0].headline  # doctest: +SKIP
"""

from fathom.assess._assess import Assessment, AssessmentInterrupted, TargetAssessment, assess
from fathom.assess._cell import EFFORTS, Cell, Effort
from fathom.assess._claim_maker import marks_of
from fathom.assess._key_figures import KeyFigure, key_figures
from fathom.assess._outcome import outcome_of
from fathom.assess._plan import plan_cells
from fathom.assess._scratch import TargetError
from fathom.assess._session import AssessedCell, TargetCells
from fathom.assess._side_by_side import SideBySide
from fathom.assess._target import AssessedTarget, opened_target
from fathom.assess._verdict import Verdict, verdict_of

__all__ = [
    "EFFORTS",
    "AssessedCell",
    "AssessedTarget",
    "Assessment",
    "AssessmentInterrupted",
    "Cell",
    "Effort",
    "KeyFigure",
    "SideBySide",
    "TargetAssessment",
    "TargetCells",
    "TargetError",
    "Verdict",
    "assess",
    "key_figures",
    "marks_of",
    "opened_target",
    "outcome_of",
    "plan_cells",
    "verdict_of",
]
