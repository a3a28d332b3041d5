"""Assessing storage: what it is good for, in words, with the numbers and the findings.

``fathom.assess`` is the same with fewer words.

>>> from fathom.experiments.assess import EFFORTS
>>> sorted(EFFORTS)
['default', 'quick', 'thorough']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.errors import TargetError
    from fathom.experiments.assess._steady import STEADY_LEAST_S
    from fathom.experiments.assess.cell import EFFORTS, Cell, Effort
    from fathom.experiments.assess.claim_maker import marks_of
    from fathom.experiments.assess.experiment import (
        AssessingFleet,
        AssessmentInterrupted,
        assess,
        hosts_before,
        resume_assess,
    )
    from fathom.experiments.assess.foreseen import Foreseen, foresee, writing_loads
    from fathom.experiments.assess.key_figure import KeyFigure, key_figures
    from fathom.experiments.assess.outcome import Assessment, TargetAssessment, outcome_of
    from fathom.experiments.assess.plan import plan_cells
    from fathom.experiments.assess.session import AssessedCell, TargetCells
    from fathom.experiments.assess.side_by_side import SideBySide
    from fathom.experiments.assess.target import AssessedTarget, opened_target
    from fathom.experiments.assess.verdict import Verdict, verdict_of

__all__ = [
    "EFFORTS",
    "STEADY_LEAST_S",
    "AssessedCell",
    "AssessedTarget",
    "AssessingFleet",
    "Assessment",
    "AssessmentInterrupted",
    "Cell",
    "Effort",
    "Foreseen",
    "KeyFigure",
    "SideBySide",
    "TargetAssessment",
    "TargetCells",
    "TargetError",
    "Verdict",
    "assess",
    "foresee",
    "hosts_before",
    "key_figures",
    "marks_of",
    "opened_target",
    "outcome_of",
    "plan_cells",
    "resume_assess",
    "verdict_of",
    "writing_loads",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
