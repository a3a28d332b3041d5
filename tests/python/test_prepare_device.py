"""A real block device: looked at, filled, and written twice over."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom import InvalidRequestError, RefusedError
from fathom._permission import Permission
from fathom.experiments.prepare import (
    Asked,
    Meter,
    fill,
    look,
    plan_fill,
    plan_precondition,
    precondition,
)
from fathom.runners import NativeRunner
from fathom.store import Store
from prepare_worker import MIB
from support import loop_device

if TYPE_CHECKING:
    from collections.abc import Iterator

DEVICE = Path("/dev/loop13")


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """Attach a loop device over a sparse file of 8 MiB and one sector."""
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 8 * MIB + 512)
    with loop_device(DEVICE, image):
        yield DEVICE


def test_a_real_device_is_looked_at_filled_and_written_twice(
    sqlite: Store, device: Path, tmp_path: Path
) -> None:
    size = 8 * MIB + 512
    empty = look(device)
    assert (empty.target.is_device, empty.target.size_bytes) == (True, size)
    assert (empty.empty_share.value, empty.reads_measure_device) == (1.0, "doubtful")
    with pytest.raises(InvalidRequestError, match="is a device of"):
        plan_fill(sqlite, device, Asked(size_bytes=9 * MIB))
    runner, meter = NativeRunner(sqlite), Meter(time.monotonic)
    with pytest.raises(RefusedError, match=f"allow-write={device}:{size}"):
        fill(sqlite, runner, plan_fill(sqlite, device, Asked()), meter)
    leave = Permission(allow_write=(f"{device}:{size}",))
    filling = plan_fill(sqlite, device, Asked(compress_ratio=2, dedupe_ratio=1.5, permission=leave))
    runner = runner.permitted(leave)
    found = fill(sqlite, runner, filling, meter)
    assert found.failure is None
    assert found.session_bytes == size
    assert found.check is not None
    assert found.check.compress_ratio is not None
    assert found.check.dedupe_ratio is not None
    assert found.check.compress_ratio.value == pytest.approx(2, rel=0.06)
    assert found.check.dedupe_ratio == pytest.approx(1.5, rel=0.02)
    assert look(device).reads_measure_device == "yes"
    first = (tmp_path / "image").read_bytes()
    assert first.count(0, 0, 4096) < 4096
    written = precondition(sqlite, runner, plan_precondition(sqlite, device, leave), meter)
    assert (written.failure, written.session_bytes) == (None, 2 * size)
    assert (tmp_path / "image").read_bytes() != first
    incompressible = look(device).survey
    assert incompressible is not None
    assert incompressible.compress_ratio is not None
    assert incompressible.compress_ratio.value == pytest.approx(1, rel=0.01)
