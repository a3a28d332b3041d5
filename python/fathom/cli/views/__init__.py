"""What the verbs show on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.cli.views.report import show_report

__all__ = ["show_report"]

__getattr__ = later(__name__)
