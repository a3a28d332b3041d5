"""Limits that nothing tells: the kernel holds a device at a rate, which the run cannot see."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import COMMAND
from fathom.findings import find
from fathom.result import Result
from support import loop_device, undisturbed

if TYPE_CHECKING:
    from collections.abc import Iterator

# A device is not blamed where others use the CPUs.
pytestmark = pytest.mark.alone

LOOP = Path("/dev/loop15")
GROUPS = Path("/sys/fs/cgroup/blkio")
# Slow, so that a busy processor is not the limit.
RATE = 300


class Group:
    """A control group whose processes read from a loop device at a rate."""

    def __init__(self) -> None:
        """Make the group, without a limit."""
        self.path = GROUPS / f"fathom-limits-{os.getpid()}"
        self.path.mkdir()

    def limit(self, iops: int) -> None:
        """Hold the device at a rate from now on."""
        number = LOOP.stat().st_rdev
        limit = f"{os.major(number)}:{os.minor(number)} {iops}"
        (self.path / "blkio.throttle.read_iops_device").write_text(limit)

    def read(self, *arguments: str) -> Result:
        """Measure within the group, where control groups are not to be seen."""
        script = f'echo 0 > {self.path}/tasks && umount -l /sys/fs/cgroup && exec "$@"'
        command = [*COMMAND, "run", "--json", "--no-save", "-W0", "-L", "-Su", *arguments]
        apart = [shutil.which("unshare") or "unshare", "--mount", "sh", "-c", script, "sh"]
        done = subprocess.run(
            [*apart, *command, str(LOOP)], check=True, capture_output=True, text=True
        )
        return Result.from_json(done.stdout)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """Return a group, and a device that it can be held at a rate on."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    if not (GROUPS / "blkio.throttle.read_iops_device").exists():
        pytest.skip(f"the kernel has no throttling of block devices below {GROUPS}")
    image = tmp_path / "image"
    image.write_bytes(os.urandom(32 << 20))
    with loop_device(LOOP, image, "--direct-io=on"):
        made = Group()
        try:
            yield made
        finally:
            made.path.rmdir()


def test_a_limit_that_a_provider_sets_is_found_by_its_plateau(group: Group) -> None:
    group.limit(RATE)
    loads = [("-b4K", "-o2"), ("-b16K", "-o8"), ("-b64K", "-o32")]
    found = find(undisturbed(lambda: [group.read("-r", "-d3", *load) for load in loads]))
    evidence = [one.evidence for one in found if one.rule == "provisioned-limit"]
    assert len(evidence) == 1, [one.rule for one in found]
    assert "3 loads with 2 to 32 outstanding and blocks of 4 KiB to 64 KiB" in evidence[0]


def test_credits_that_are_used_up_are_found_by_the_step_down(group: Group) -> None:
    def use_up() -> None:
        time.sleep(4)
        group.limit(RATE)

    def measure() -> list[Result]:
        group.limit(4 * RATE)
        spender = threading.Thread(target=use_up)
        spender.start()
        result = group.read("-r", "-b4K", "-o4", "-d8", "-D200")
        spender.join()
        return [result]

    (result,) = undisturbed(measure)
    found = [one for one in find([result]) if one.rule == "burst-credits"]
    assert len(found) == 1, result.raw["warnings"]
    before, _, after = found[0].evidence.partition(" IOPS for ")
    assert abs(float(before.rpartition(" ")[2].replace(",", "")) / (4 * RATE) - 1) < 0.3
    assert abs(float(after.partition("then ")[2].partition(" ")[0]) / RATE - 1) < 0.3
