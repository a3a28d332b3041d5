"""kill -9 at moments all over the life of commands: nothing is lost, and the next command works.

``make soak KILLS=200`` makes many more of them, at full length (scripts/kills.py).
"""

from __future__ import annotations

import importlib.util
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from commands import program
from support import diskspd

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
SEED = 11
# The more, the less their commands cost. An assessment takes ten seconds at least: tests of its own
# kill it, and others a preparation.
KILLS = {"create": 4, "result": 3, "verify": 3, "run": 1, "sweep": 1, "repeat": 1, "report": 1}
KILLS["import"] = 1


def kills() -> ModuleType:
    """Return the script."""
    spec = importlib.util.spec_from_file_location("kills", ROOT / "scripts/kills.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for the module of their annotations.
    sys.modules["kills"] = module
    spec.loader.exec_module(module)
    return module


def test_killed_commands_lose_nothing_and_the_next_one_works(tmp_path: Path) -> None:
    script = kills()
    # What is killed loads its libraries, too; what is not need not.
    around = [str(program())]
    made = script.scenarios(str(diskspd()), brief=True, around=around)
    found = {one.name: one for one in made}
    assert KILLS.keys() | {"assess", "fill"} == found.keys()

    def killed(name: str) -> tuple[list[str], int]:
        moments = random.Random(f"{SEED} {name}")  # noqa: S311 - Moments, no secrets.
        faults, running = script.kill_often(found[name], KILLS[name], moments, tmp_path)
        return list(faults), int(running)

    with ThreadPoolExecutor(4) as pool:
        done = dict(zip(KILLS, pool.map(killed, KILLS), strict=True))
    assert [fault for faults, _ in done.values() for fault in faults] == []
    # They run beside each other, so that some end before their moment; most do not.
    assert sum(running for _, running in done.values()) > sum(KILLS.values()) // 2
