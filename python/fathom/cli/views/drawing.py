"""What draws on a terminal by Rich: imported when it is used, since help draws nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.cli.views.whole_console import WholeConsole
    from fathom.cli.views.whole_progress import whole_progress

__all__ = ["WholeConsole", "whole_progress"]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
