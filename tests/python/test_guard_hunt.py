"""Drawn sequences of our runs, kills and what others do to files (scripts/guard_hunt.py).

``make soak`` draws them for minutes.
"""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import diskspd

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
SEQUENCES = 40
SHARES = 4
STEPS = 8
# Of all shares together; the sequences of a loaded machine end here.
LONGEST_S = 40
# Fewer show nothing.
SEQUENCES_LEAST = 2


def script() -> ModuleType:
    """Return the script."""
    spec = importlib.util.spec_from_file_location("guard_hunt", ROOT / "scripts/guard_hunt.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for the module of their annotations.
    sys.modules["guard_hunt"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("share", range(SHARES))
def test_no_byte_of_theirs_is_lost_and_no_file_of_ours_is_refused(
    share: int, tmp_path: Path
) -> None:
    hunt = script()
    seeds = range(1 + share, 1 + SEQUENCES, SHARES)
    # One of them draws mostly what tables of characters look like.
    world = hunt.World(str(diskspd()), tmp_path, is_of_tables=share == 0)
    outcome = hunt.hunt(world, seeds, STEPS, LONGEST_S / SHARES)
    assert not outcome.violations, "\n".join(outcome.violations)
    assert outcome.sequences >= SEQUENCES_LEAST
    assert outcome.counts["run"] > 0
    assert outcome.counts["refused"] + outcome.counts["killed"] > 0


def test_the_hunt_sees_a_byte_that_is_lost_and_a_file_that_is_refused(tmp_path: Path) -> None:
    """A hunt that cannot find anything would find nothing."""
    hunt = script()
    overwriting, refusing = tmp_path / "overwriting", tmp_path / "refusing"
    overwriting.write_text(f'#!/bin/sh\nexec "{diskspd()}" --overwrite "$@"\n')
    refusing.write_text("#!/bin/sh\nexit 2\n")
    for one in (overwriting, refusing):
        one.chmod(0o755)
    for command, words in ((overwriting, "was changed"), (refusing, "was refused")):
        found = _violation(hunt, command, tmp_path)
        assert found is not None
        assert words in found


def _violation(hunt: ModuleType, command: Path, folder: Path) -> str | None:
    """Return what is violated if this command writes to a file, and again after a foreign byte."""
    world = hunt.World(str(command), folder)
    path = world.new_name()
    path.write_bytes(bytes(64 << 10))
    if command.name == "overwriting":
        hunt.put(world, path, 100, b"theirs")
    found = hunt.play(world, [("run", 1), ("run", 2), ("run", 3)])
    assert found is None or isinstance(found, str)
    return found


def test_a_foreign_write_is_noted_until_it_is_cut_away(tmp_path: Path) -> None:
    hunt = script()
    world = hunt.World("diskspd", tmp_path)
    path = world.new_name()
    path.write_bytes(bytes(4096))
    hunt.put(world, path, 1000, b"theirs")
    hunt.FOREIGN["mapping"](world, path, 1003, b"OTHERS")
    assert world.state(path).theirs == {1000: b"theOTH", 1003: b"OTHERS"}
    hunt.copy(world, random.Random(1))  # noqa: S311
    assert [len(world.state(one).theirs) for one in world.files()] == [2, 2]
    path.write_bytes(bytes(1000))
    world.settle(path)
    assert world.state(path).theirs == {}
    assert world.state(path).is_cut
