"""The use of CPUs beside a foreign tool, from what the kernel counted before and after."""

from __future__ import annotations

import pytest
from fathom.tools._process import CpuSample, cpu_rows


def test_a_cpu_that_goes_or_comes_is_left_out_and_no_share_is_negative() -> None:
    """CPU 1 goes and CPU 2 comes; the time that CPU 0 waited goes back, as proc(5) warns."""
    first = CpuSample(0.0, {0: (10, 10, 500, 0), 1: (7, 7, 7, 7)})
    last = CpuSample(1.0, {0: (40, 20, 480, 0), 2: (900, 0, 0, 0)})
    (row,) = cpu_rows([first, last], 1.0)
    assert row["os_id"] == 0
    shares = [row[f"{name}_percent"] for name in ("user", "kernel", "idle", "steal")]
    assert shares == pytest.approx([75.0, 25.0, 0.0, 0.0])
