"""Cluster resources: which moved, failed or degraded, of Pacemaker and of Windows clusters.

Reading is pure: texts and files to ``Found``, of which ``report`` makes rows and moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.clusters.local import local_sources
    from fathom.clusters.mail import MailServer, send
    from fathom.clusters.model import (
        COLUMNS,
        ClusterError,
        ClusterReport,
        EmptySourceError,
        Found,
        Move,
        ResourceEvent,
        ResourceRow,
        ResourceState,
    )
    from fathom.clusters.read import read_source
    from fathom.clusters.report import report_of
    from fathom.clusters.shown import html_page, mail_of, move_words, summary_words
    from fathom.clusters.times import iso_s
    from fathom.clusters.written import named_rows, report_from_json, report_to_json

__all__ = [
    "COLUMNS",
    "ClusterError",
    "ClusterReport",
    "EmptySourceError",
    "Found",
    "MailServer",
    "Move",
    "ResourceEvent",
    "ResourceRow",
    "ResourceState",
    "html_page",
    "iso_s",
    "local_sources",
    "mail_of",
    "move_words",
    "named_rows",
    "read_source",
    "report_from_json",
    "report_of",
    "report_to_json",
    "send",
    "summary_words",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
