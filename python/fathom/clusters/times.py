"""Dates as clusters write them; those without a zone are of this machine's own."""

from __future__ import annotations

import re
from datetime import datetime

__all__ = ["dotnet_s", "iso_s", "long_s"]

_DOTNET = re.compile(r"/Date\((-?\d{1,15})(?:[+-]\d{4})?\)/")
_FRACTION = re.compile(r"(\.\d{6})\d+")


def iso_s(text: str) -> float | None:
    """Return the time of ``2026-11-25 23:10:37Z`` or ``2016-06-23T10:11:12.1234567+02:00``."""
    try:
        return datetime.fromisoformat(_FRACTION.sub(r"\1", text.strip())).timestamp()
    except (ValueError, OverflowError):
        # It is no date, or lies before the years of this zone.
        return None


def long_s(text: str) -> float | None:
    """Return the time of ``Wed Nov 25 23:10:35 2026``, crm_mon's other form."""
    try:
        return datetime.strptime(text.strip(), "%a %b %d %H:%M:%S %Y").astimezone().timestamp()
    except (ValueError, OverflowError):
        return iso_s(text)


def dotnet_s(text: str) -> float | None:
    """Return the time of ``/Date(1466669472123)/``, as Windows PowerShell writes JSON."""
    found = _DOTNET.fullmatch(text.strip())
    return int(found[1]) / 1000 if found else iso_s(text)
