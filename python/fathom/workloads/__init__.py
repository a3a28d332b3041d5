"""Workloads: loads of well-known applications by name, and the user's own.

>>> from fathom.workloads import find_workload
>>> find_workload("sql-oltp-70").steps[0].arguments[:3]
('-b8K', '-r', '-w30')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.workloads.arguments import run_arguments
    from fathom.workloads.folder import all_workloads, find_workload, user_folder, workload_names
    from fathom.workloads.workload import (
        Step,
        Workload,
        WorkloadError,
        WorkloadRefusedError,
        read_workload,
    )

__all__ = [
    "Step",
    "Workload",
    "WorkloadError",
    "WorkloadRefusedError",
    "all_workloads",
    "find_workload",
    "read_workload",
    "run_arguments",
    "user_folder",
    "workload_names",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
