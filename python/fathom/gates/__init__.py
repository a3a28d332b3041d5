"""Gates: limits on saved runs, judged together, for a pipeline that needs one answer.

>>> from fathom.gates import gate_of
>>> gate = gate_of(["p99<2ms", "iops>-5%"], baseline="golden")
>>> [str(one) for one in gate.relative]
['iops>-5%']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.gates.chosen import runs_of_gate
    from fathom.gates.gate import ChangeLimit, Gate, NoWorse, gate_of
    from fathom.gates.judged import Check, JudgedGate, worst
    from fathom.gates.junit import junit_xml
    from fathom.gates.plan import find_gate_file, read_gates
    from fathom.gates.pull_request import change_cells, gates_markdown, measured_cell
    from fathom.gates.verdict import judge_gate

__all__ = [
    "ChangeLimit",
    "Check",
    "Gate",
    "JudgedGate",
    "NoWorse",
    "change_cells",
    "find_gate_file",
    "gate_of",
    "gates_markdown",
    "judge_gate",
    "junit_xml",
    "measured_cell",
    "read_gates",
    "runs_of_gate",
    "worst",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
