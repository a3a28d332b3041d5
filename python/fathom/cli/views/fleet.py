"""The hosts of a fleet as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.cli.views.runs import text_table
from fathom.units import NS_PER_MS, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.cli.views.whole_table import WholeTable
    from fathom.fleet.showing import ShownHost

__all__ = ["hosts_table"]


def hosts_table(hosts: Sequence[ShownHost]) -> WholeTable:
    """Return a row for each host."""
    columns = ("host", "version", "kernel", "clock ms>", "+/- ms>", "state", "address")
    rows = [
        [
            one.name,
            one.version,
            one.kernel,
            "-" if one.clock_offset_ns is None else f"{one.clock_offset_ns / NS_PER_MS:+.3f}",
            "-"
            if one.clock_uncertainty_ns is None
            else f"{one.clock_uncertainty_ns / NS_PER_MS:.3f}",
            one.state,
            one.address,
        ]
        for one in hosts
    ]
    return text_table(counted(len(hosts), "host"), columns, rows)
