"""Cluster resources: which moved, failed or degraded, of Pacemaker and of Windows clusters.

Reading is pure: texts and files to ``Found``, of which ``report`` makes rows and moves.
"""

from fathom.clusters.model import (
    COLUMNS,
    ClusterError,
    ClusterReport,
    Found,
    Move,
    ResourceEvent,
    ResourceRow,
    ResourceState,
)
from fathom.clusters.read import read_source
from fathom.clusters.report import report_of
from fathom.clusters.written import report_from_json, report_to_json

__all__ = [
    "COLUMNS",
    "ClusterError",
    "ClusterReport",
    "Found",
    "Move",
    "ResourceEvent",
    "ResourceRow",
    "ResourceState",
    "read_source",
    "report_from_json",
    "report_of",
    "report_to_json",
]
